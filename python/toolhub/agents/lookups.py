"""What is known, arranged so that looking something up takes the same time however much is known."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from .facts import Date


class KnownDates:
    """Dates of which the year or the day may be missing, and whether one of them may be a given day."""

    def __init__(self, dates: Iterable[Date]) -> None:
        known = set(dates)
        self._days = {(date.year, date.month, date.day) for date in known}
        self._days_of_any_year = {(date.month, date.day) for date in known}
        self._months_of_years = {(date.year, date.month) for date in known}
        self.months = {date.month for date in known}

    def has(self, date: Date) -> bool:
        """Whether a known date says at least as much as this one, and nothing else."""
        year, month, day = date
        if day is not None:
            if year is None:
                return (month, day) in self._days_of_any_year
            return (year, month, day) in self._days or (None, month, day) in self._days
        if year is None:
            return month in self.months
        return (year, month) in self._months_of_years or (None, month) in self._months_of_years


class KnownTimes:
    """Times of day, and whether one of them may be meant by a given one."""

    def __init__(self, times: Iterable[tuple[int, int, int]]) -> None:
        self._times = set(times)
        self._minutes = {(hours, minutes) for hours, minutes, _ in self._times}

    def has(self, time: tuple[int, int, int]) -> bool:
        """Whether the time is known, perhaps in the other half of the day or with seconds that it leaves out."""
        hours, minutes, seconds = time
        halves = {hours, (hours + 12) % 24} if hours <= 12 else {hours}
        if seconds == 0:
            return any((half, minutes) in self._minutes for half in halves)
        return any((half, minutes, seconds) in self._times for half in halves)


class KnownNumbers:
    """Numbers, and whether one of them is near a given one."""

    def __init__(self, numbers: Iterable[float]) -> None:
        self._all = sorted({number for number in numbers if not math.isnan(number)})
        self._broken = [number for number in self._all if math.isfinite(number) and number != int(number)]

    def has(self, number: float, precision: int) -> bool:
        """Whether the number is known, perhaps rounded to the digits that it is written with."""
        return _near(self._all, number, 0.0) or _near(self._broken, number, 0.5 * 10.0**-precision + 1e-9)

    def near(self, number: float, distance: float) -> bool:
        """Whether a number that is not further away is known."""
        return _near(self._all, number, distance)


def _near(known: list[float], number: float, distance: float) -> bool:
    return bisect_left(known, number - distance) < bisect_right(known, number + distance)
