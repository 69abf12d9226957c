"""A small web shop."""

from shop.basket import Basket, load_basket, save_basket

__all__ = ["Basket", "load_basket", "save_basket"]
