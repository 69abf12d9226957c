"""The files of upstream's rollouts: one job folder a cell, in it a folder a trial, and the summary."""
