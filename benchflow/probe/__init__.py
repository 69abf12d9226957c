"""The probe: drives an agent through fixed steps, and writes down what it did as evidence."""
