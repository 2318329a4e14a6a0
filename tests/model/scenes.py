"""Fixed scenes: what chance would meet too seldom, with the scripts' real chunks and limits. A scene's name is a sentence.

The scenes themselves are in scenes_*.py, by what they are about.
"""
from line import Line

SCENES = []  # (name, function of a Line, configuration)


def scene(**config):
    def register(function):
        SCENES.append((function.__name__, function, config))
        return function
    return register


def run_scenes(connection, changes, flags):
    """(name, a function that plays it). FLAGS concern daemons, and there are none here."""
    for name, function, config in SCENES:
        yield name, lambda: function(Line(connection, changes, **config))


def outcome(reply):
    return reply['ok'] if isinstance(reply, dict) else reply[0]


def pick(tick, *fields):
    return [tick[field] for field in fields]
