"""When is the water high enough?"""

import sys

# Hours after midnight, and metres.
TIDES = [(0, 1.1), (3, 2.4), (6, 3.6), (9, 2.5), (12, 1.2), (15, 2.3), (18, 3.5), (21, 2.6)]


def hours_above(metres):
    return [hour for hour, height in TIDES if height >= metres]


if __name__ == "__main__":
    wanted = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    print(", ".join(f"{hour}:00" for hour in hours_above(wanted)))
