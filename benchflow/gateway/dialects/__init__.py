"""The dialects of model APIs: bytes and values in, values out."""
