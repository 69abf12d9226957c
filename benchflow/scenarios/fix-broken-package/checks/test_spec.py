import unittest

from benchflow_subject import Raised, call, evaluate

SRC = ("src",)


class Money(unittest.TestCase):
    def test_split(self):
        code = "from ledger.money import split\nresult = [split(*one) for one in given]"
        given = [[100, 3], [101, 3], [102, 3], [-100, 3], [-101, 3], [5, 5], [2, 4], [-2, 4], [0, 2], [7, 1]]
        expected = [
            [34, 33, 33],
            [34, 34, 33],
            [34, 34, 34],
            [-34, -33, -33],
            [-34, -34, -33],
            [1, 1, 1, 1, 1],
            [1, 1, 0, 0],
            [-1, -1, 0, 0],
            [0, 0],
            [7],
        ]
        self.assertEqual(evaluate(code, path=SRC, given=given), expected)

    def test_no_share(self):
        with self.assertRaises(Raised) as caught:
            call("ledger.money:split", 100, 0, path=SRC)
        self.assertEqual(caught.exception.kind, "ValueError")


class Accounts(unittest.TestCase):
    def test_accounts_share_nothing(self):
        code = """
from datetime import date
from ledger.account import Account
one, other = Account("one"), Account("other")
one.book(date(2024, 1, 1), 10)
result = [one.balance(), other.balance(), Account("third").balance()]
"""
        self.assertEqual(evaluate(code, path=SRC), [10, 0, 0])

    def test_balance_includes_the_day(self):
        code = """
from datetime import date
from ledger.account import Account
account = Account("cash")
account.book(date(2024, 5, 2), 700)
account.book(date(2024, 5, 1), 1000)
account.book(date(2024, 5, 2), -400)
result = [account.balance(on=date(2024, 4, day)) for day in (30,)]
result += [account.balance(on=date(2024, 5, day)) for day in (1, 2, 3)] + [account.balance()]
"""
        self.assertEqual(evaluate(code, path=SRC), [0, 1000, 1300, 1300, 1300])


class Statements(unittest.TestCase):
    def test_a_statement(self):
        code = """
from datetime import date
from ledger.account import Account
from ledger.statement import statement
account = Account("cash")
account.book(date(2024, 6, 1), 5, "next month")
account.book(date(2024, 5, 31), 100, "last day")
account.book(date(2024, 5, 1), 1000, "fees")
account.book(date(2024, 5, 31), -30)
account.book(date(2024, 4, 30), 250000, "before")
result = [statement(account, date(2024, 5, 1), date(2024, 5, 31)), [b.text for b in account.bookings]]
"""
        lines, order = evaluate(code, path=SRC)
        expected = [
            "opening 2,500.00",
            "2024-05-01 10.00 2,510.00 fees",
            "2024-05-31 1.00 2,511.00 last day",
            "2024-05-31 -0.30 2,510.70",
            "closing 2,510.70",
        ]
        self.assertEqual(lines, expected)
        self.assertEqual(order, ["next month", "last day", "fees", "", "before"])
