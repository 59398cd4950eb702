"""Programs of the shell and of the kernel's scheduling settings."""

from bed import Healthy, Pair

PAIRS = []
