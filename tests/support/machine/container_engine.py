"""A machine that cannot build images."""

import os
from pathlib import Path

from local_aws.images.container_engine import PROGRAMS


def path_without_container_engine(folder: Path) -> str:
    """This machine's PATH, but for the programs that build images; `folder` gets links to the others.

    An image takes 40 CPU seconds: it is built where what becomes of it is looked at.
    """
    places = []
    for number, place in enumerate(map(Path, os.environ["PATH"].split(os.pathsep))):
        if not any((place / program).exists() for program in PROGRAMS):
            places.append(place)
            continue
        links = folder / f"programs-{number}"
        links.mkdir()
        for program in place.iterdir():
            if program.name not in PROGRAMS:
                (links / program.name).symlink_to(program)
        places.append(links)
    return os.pathsep.join(map(str, places))
