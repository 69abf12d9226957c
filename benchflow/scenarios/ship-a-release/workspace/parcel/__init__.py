"""What it costs to send a parcel."""

__version__ = "1.5.0.dev0"
