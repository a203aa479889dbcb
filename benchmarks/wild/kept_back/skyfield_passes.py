"""Passes of satellites over places on the ground, and where they stand in the sky meanwhile."""

from skyfield.api import EarthSatellite, load, wgs84
from skyfield.framelib import itrs

PACKAGE = "skyfield"

LINES = (
    (
        "ISS",
        "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
        "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
    ),
    (
        "VANGUARD 1",
        "1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753",
        "2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667",
    ),
)
PLACES = (("Graz", 47.07, 15.44, 353.0), ("Quito", -0.18, -78.47, 2850.0), ("Hobart", -42.88, 147.33, 54.0))


def prepare():
    timescale = load.timescale(builtin=True)
    satellites = [EarthSatellite(first, second, name, timescale) for name, first, second in LINES]
    places = [(name, wgs84.latlon(lat, lon, elevation_m=height)) for name, lat, lon, height in PLACES]
    return timescale, satellites, places


def drive(timescale, satellites, places):
    out = []
    for satellite in satellites:
        day = satellite.epoch.tt
        begin, end = timescale.tt_jd(day), timescale.tt_jd(day + 0.5)
        for name, place in places:
            times, events = satellite.find_events(place, begin, end, altitude_degrees=10.0)
            seen = []
            for time, event in zip(times, events, strict=True):
                altitude, azimuth, distance = (satellite - place).at(time).altaz()
                seen.append((int(event), time.tt, altitude.degrees, azimuth.degrees, distance.km))
            out.append((satellite.name, name, seen))
        track = []
        for step in range(120):
            at = satellite.at(timescale.tt_jd(day + step / 1440.0))
            below = wgs84.subpoint_of(at)
            turning = at.frame_xyz_and_velocity(itrs)[1].km_per_s
            track.append((below.latitude.degrees, below.longitude.degrees, wgs84.height_of(at).km, turning))
            looks = [(satellite - place).at(at.t).altaz() for _, place in places]
            highest = max(range(len(looks)), key=lambda i: looks[i][0].degrees)
            if looks[highest][0].degrees > 0.0:
                track.append((places[highest][0], looks[highest][0].dms(), looks[highest][2].au))
        out.append((satellite.name, track))
    return out
