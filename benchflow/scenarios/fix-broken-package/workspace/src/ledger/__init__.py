"""Bookkeeping for small clubs. Amounts are whole cents; days are `datetime.date`."""
