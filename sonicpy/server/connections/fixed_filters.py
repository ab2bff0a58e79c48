"""The commands of a key with a fixed filter, and their replies, which show nothing of objects that do not pass."""

from sonicpy.access.grant import Grant, NotPermitted
from sonicpy.channel import replies
from sonicpy.channel.commands import Command, CountFacets, Query, Suggest
from sonicpy.channel.held_words import pack_text
from sonicpy.filters.fixed import coarse, with_fixed

EVENT = "EVENT QUERY "


def within(grant: Grant, command: Command) -> Command:
    """Return a command with the fixed filters of a key added to its own.

    Raises:
        NotPermitted: no filter can be added, or the command would show the place of an object that does not pass.
        InvalidArgument: the filter of the command is not valid.
    """
    if not grant.filters:
        return command
    match command:
        case Query():
            grant.check_after(command.after)
            return command._replace(filter=with_fixed(grant.filters, command.filter))
        case Suggest():
            return command._replace(filter=with_fixed(grant.filters, command.filter))
        case CountFacets():
            return command._replace(filter=with_fixed(grant.filters, command.filter, apart=command.apart))
    raise NotPermitted(f"the key {grant.key} has a fixed filter, which this command cannot obey")


def coarse_reply(command: Command, reply: bytes) -> bytes:
    """Return the reply to a command with scores cut to two decimals, and without a corrected text, which may show words
    of objects that do not pass.
    """
    if not isinstance(command, Query) or not (command.scores or command.how):
        return reply
    lines = reply.decode().split("\r\n")
    if len(lines) < 2 or not lines[1].startswith(EVENT):
        return reply
    items = [item for item in lines[1].split(" ")[3:] if item]  # an answer without items ends in a blank
    counts = command.total + command.counts_whole
    head, found = items[:counts], items[counts:]
    if command.how:
        head, found = [*head, pack_text(None)], found[1:]
    if command.scores:
        place = -1 - command.how - (command.group is not None)
        found = [_coarse_item(item, place) for item in found]
    return replies.event("QUERY", [*head, *found])


def _coarse_item(item: str, place: int) -> str:
    name, *parts = item.rsplit(":", -place)
    if parts[0] != "-":
        parts[0] = f"{coarse(float(parts[0])):.6f}"
    return ":".join([name, *parts])
