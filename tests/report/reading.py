"""Reading a page as strictly as it should be written."""

from html.parser import HTMLParser

VOID = {"meta", "img", "path", "line", "rect"}


class Reader(HTMLParser):
    """Check that tags close in order, and collect images, loaded resources, tags and words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.pictures: list[str | None] = []
        self.loaded: list[str] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.loaded += [given[key] or "" for key in ("src", "href", "srcset", "xlink:href") if key in given]
        if tag == "img":
            self.pictures.append(given.get("alt"))
        if given.get("role") == "img":
            self.pictures.append(given.get("aria-label"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def text(self) -> str:
        """All words, with single spaces between them."""
        return " ".join(self.words.split())
