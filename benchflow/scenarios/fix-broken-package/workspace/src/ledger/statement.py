"""Statements: what happened on an account in a period."""

from ledger.money import show


def statement(account, first, last):
    """Return the lines of a statement for the days from `first` to `last`, both included.

    The first line is `opening BALANCE`, with the balance before the first day. Then one line for each booking of the
    period, by day, and within a day in the order of booking: `YYYY-MM-DD AMOUNT BALANCE TEXT`, with the balance after it;
    a booking without a text ends with its balance. The last line is `closing BALANCE`. Amounts are written as
    `ledger.money.show` does.
    """
    balance = sum(booking.cents for booking in account.bookings if booking.day < first)
    lines = [f"opening {show(balance)}"]
    for booking in account.bookings:
        if first <= booking.day <= last:
            balance += booking.cents
            lines.append(f"{booking.day} {show(booking.cents)} {show(balance)} {booking.text}")
    lines.append(f"closing {show(balance)}")
    return lines
