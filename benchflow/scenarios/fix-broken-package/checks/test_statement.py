from datetime import date

from ledger.account import Account
from ledger.statement import statement


def test_bookings_are_listed_by_day():
    account = Account("cash", [])
    account.book(date(2024, 5, 3), -250, "stamps")
    account.book(date(2024, 5, 1), 1_000, "fees")

    assert statement(account, date(2024, 5, 1), date(2024, 5, 31)) == [
        "opening 0.00",
        "2024-05-01 10.00 10.00 fees",
        "2024-05-03 -2.50 7.50 stamps",
        "closing 7.50",
    ]
