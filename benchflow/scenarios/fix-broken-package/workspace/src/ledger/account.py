"""Accounts and what was booked on them."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Booking:
    """One movement on an account. Positive: money came in."""

    day: date
    cents: int
    text: str


class Account:
    """A named account with its bookings, in the order in which they were made."""

    def __init__(self, name, bookings=[]):
        self.name = name
        self.bookings = bookings

    def book(self, day, cents, text=""):
        """Add a booking and return it."""
        booking = Booking(day, cents, text)
        self.bookings.append(booking)
        return booking

    def balance(self, on=None):
        """Return the balance at the end of the day `on`; without a day, of everything booked."""
        return sum(booking.cents for booking in self.bookings if on is None or booking.day < on)
