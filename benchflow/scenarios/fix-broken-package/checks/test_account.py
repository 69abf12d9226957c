from datetime import date

from ledger.account import Account


def test_a_new_account_is_empty():
    Account("cash").book(date(2024, 5, 1), 1_000)

    assert Account("bank").balance() == 0


def test_balance_at_the_end_of_a_day():
    account = Account("cash", [])
    account.book(date(2024, 5, 1), 1_000)
    account.book(date(2024, 5, 2), -400)

    assert account.balance(on=date(2024, 5, 2)) == 600
