"""A page as a strict parser sees it: elements, their attributes and their text."""

from html.parser import HTMLParser

import attrs

VOID = frozenset({"meta", "link", "br", "rect", "input"})


@attrs.define
class Element:
    """A start tag, and the text below it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


class Parsed(HTMLParser):
    """All elements of a page in their order; an end tag that does not fit is an error."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(page)
        self.close()
        assert self._open == [], [element.tag for element in self._open]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        assert len(dict(attributes)) == len(attributes), attributes
        element = Element(tag, {name: value or "" for name, value in attributes})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.elements.append(Element(tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element, which has to be of that tag."""
        assert self._open.pop().tag == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        """Add a text to all open elements."""
        for element in self._open:
            element.text += data

    @property
    def tags(self) -> list[str]:
        """Return the tags in their order."""
        return [element.tag for element in self.elements]

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of a tag with these attributes; `class_` is `class`."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag and wanted.items() <= element.attributes.items()
        ]
