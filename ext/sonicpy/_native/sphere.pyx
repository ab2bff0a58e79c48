"""Distances between points of the earth, taken as a sphere of 6,371,008.8 metres: squares of chords, in whole numbers.

A table of sines for each hundredth of a degree, rounded to 2**-29, is read with linear interpolation: an error of at
most 3 cm. Chords need no exceptions at the poles and at the antimeridian.
"""

from libc.math cimport sin
from libc.stdint cimport int64_t

import math

cdef enum:
    STEPS = 9_000  # of a right angle in the table
    STEP = 100_000  # units of 1e-7 degree

cdef double RADIUS = 6_371_008.8  # metres
cdef double ONE = 536_870_912.0  # 2**29: the square of a chord has less than 64 bits
cdef int64_t RIGHT_ANGLE = 900_000_000
cdef int64_t[STEPS + 2] SINES


cdef int fill() except -1:
    cdef int number
    for number in range(STEPS + 1):
        SINES[number] = <int64_t> (sin(number * (math.pi / 2.0) / STEPS) * ONE + 0.5)
    SINES[STEPS + 1] = SINES[STEPS]
    return 0


fill()


cdef inline int64_t sine(int64_t angle) noexcept nogil:
    """Return the sine, times 2**29, of an angle in units of 1e-7 degree, from -360 to 360 degrees."""
    if angle < 0:
        return -sine_of_positive(-angle)
    return sine_of_positive(angle)


cdef inline int64_t sine_of_positive(int64_t angle) noexcept nogil:
    cdef int64_t at, sign = 1
    if angle >= 2 * RIGHT_ANGLE:
        angle -= 2 * RIGHT_ANGLE
        sign = -1
    if angle >= 2 * RIGHT_ANGLE:
        angle -= 2 * RIGHT_ANGLE
        sign = 1
    if angle > RIGHT_ANGLE:
        angle = 2 * RIGHT_ANGLE - angle
    at = angle // STEP
    return sign * (SINES[at] + (SINES[at + 1] - SINES[at]) * (angle - at * STEP) // STEP)


cdef void place_of(int64_t point, Place *place) noexcept nogil:
    """Set `place` to the place of a packed point on a sphere with the radius 2**29."""
    cdef int64_t latitude = latitude_of(point), longitude = longitude_of(point)
    cdef int64_t across = sine(RIGHT_ANGLE - latitude)
    place.x = across * sine(RIGHT_ANGLE + longitude) >> 29
    place.y = across * sine(longitude) >> 29
    place.z = sine(latitude)


cdef int64_t chord(const Place *one, const Place *other) noexcept nogil:
    """Return the square of the chord between two places, less than 2**61."""
    cdef int64_t x = one.x - other.x, y = one.y - other.y, z = one.z - other.z
    return x * x + y * y + z * z


def chord_between(int64_t point, int64_t other) -> int:
    """Return the square of the chord between two packed points, in units of 2**-58 of the squared radius."""
    cdef Place here, there
    place_of(point, &here)
    place_of(other, &there)
    return chord(&here, &there)


def chord_of_meters(meters) -> int:
    """Return the square of the chord between two points that are `meters` apart on the sphere."""
    return round((2.0 * ONE * math.sin(min(meters / (2.0 * RADIUS), math.pi / 2.0))) ** 2)


def meters_of_chord(square) -> float:
    """Return the distance on the sphere, in metres, of two points whose chord has the square `square`."""
    return 2.0 * RADIUS * math.asin(min(1.0, math.sqrt(square) / (2.0 * ONE)))
