"""The folders that agents work in: made, looked at, compared, and commanded in a sandbox."""
