"""Tasks of Harbor as scenarios: what can be done without an image is converted, the rest is listed with its reason."""
