"""One task family of a real web application: a goal in words, what its database must hold afterwards, one way there.

The agent sees what the accessibility tree names; the verdict is a query of the database, never the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.steps.browser import Browser
from benchmarks.steps.desktop import command_of
from benchmarks.steps.environment import Command, Observation, Reply
from benchmarks.steps.web.accessibility import AccessiblePage
from benchmarks.steps.web.applications import (
    start_canaille,
    start_django_admin,
    start_fab,
    start_helpdesk,
    start_oscar,
    start_roundup,
    start_trac,
    start_wagtail,
)
from benchmarks.steps.web.server import Rows, WebServer
from ufo_experience.errors import UsageError

_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class WebApplication:
    """An application: what agents call it, what starts it, the tables whose changes count."""

    name: str
    start: Callable[[], WebServer]
    tables: tuple[str, ...]


APPLICATIONS: Mapping[str, WebApplication] = {
    "trac": WebApplication(
        "Trac", start_trac, ("ticket", "ticket_change", "milestone", "component", "version", "enum", "wiki", "report")
    ),
    "django": WebApplication(
        "Django",
        start_django_admin,
        (
            "auth_user",
            "auth_group",
            "auth_user_groups",
            "django_redirect",
            "django_flatpage",
            "django_flatpage_sites",
            "django_site",
        ),
    ),
    "fab": WebApplication("Contacts", start_fab, ("contact", "contact_group", "ab_user", "ab_role", "ab_user_role")),
    "wagtail": WebApplication(
        "Wagtail",
        start_wagtail,
        (
            "wagtailcore_page",
            "wagtail_pages_articlepage",
            "wagtail_pages_person",
            "wagtail_pages_notice",
            "wagtail_pages_officedetails",
            "wagtailcore_pageviewrestriction",
            "wagtailcore_pageviewrestriction_groups",
            "wagtailcore_site",
            "wagtailcore_collection",
            "wagtailcore_workflow",
            "wagtailcore_workflowpage",
            "wagtailcore_workflowtask",
            "wagtailcore_task",
            "wagtailcore_groupapprovaltask_groups",
            "wagtailcore_grouppagepermission",
            "wagtailcore_groupcollectionpermission",
            "wagtaildocs_document",
            "wagtailredirects_redirect",
            "wagtailsearchpromotions_searchpromotion",
            "auth_user",
            "auth_group",
            "auth_user_groups",
            "auth_group_permissions",
        ),
    ),
    "roundup": WebApplication(
        "Roundup", start_roundup, ("_issue", "_keyword", "_user", "_msg", "_priority", "_status", "issue_keyword")
    ),
    "oscar": WebApplication(
        "Oscar",
        start_oscar,
        (
            "auth_user",
            "catalogue_attributeoption",
            "catalogue_attributeoptiongroup",
            "catalogue_category",
            "catalogue_option",
            "catalogue_product",
            "catalogue_productcategory",
            "catalogue_productclass",
            "catalogue_productclass_options",
            "catalogue_productrecommendation",
            "communication_communicationeventtype",
            "customer_productalert",
            "django_flatpage",
            "offer_benefit",
            "offer_condition",
            "offer_conditionaloffer",
            "offer_range",
            "offer_range_included_categories",
            "offer_rangeproduct",
            "order_line",
            "order_order",
            "order_ordernote",
            "order_shippingaddress",
            "order_shippingevent",
            "partner_partner",
            "partner_partner_users",
            "partner_partneraddress",
            "partner_stockalert",
            "partner_stockrecord",
            "reviews_productreview",
            "voucher_voucher",
            "voucher_voucher_offers",
            "voucher_voucherset",
        ),
    ),
    "canaille": WebApplication(
        "Canaille",
        start_canaille,
        (
            "authorization_code",
            "client",
            "client_audience_association_table",
            "consent",
            "group",
            "membership_association_table",
            "token",
            "token_audience_association_table",
            "user",
        ),
    ),
    "helpdesk": WebApplication(
        "Helpdesk",
        start_helpdesk,
        (
            "auth_group",
            "auth_user",
            "auth_user_groups",
            "helpdesk_checklist",
            "helpdesk_checklisttask",
            "helpdesk_checklisttemplate",
            "helpdesk_customfield",
            "helpdesk_emailtemplate",
            "helpdesk_escalationexclusion",
            "helpdesk_followup",
            "helpdesk_ignoreemail",
            "helpdesk_ignoreemail_queues",
            "helpdesk_kbcategory",
            "helpdesk_kbitem",
            "helpdesk_kbitem_downvoted_by",
            "helpdesk_kbitem_voted_by",
            "helpdesk_presetreply",
            "helpdesk_presetreply_queues",
            "helpdesk_queue",
            "helpdesk_savedsearch",
            "helpdesk_ticket",
            "helpdesk_ticketcc",
            "helpdesk_ticketchange",
            "helpdesk_ticketcustomfieldvalue",
            "helpdesk_ticketdependency",
            "helpdesk_usersettings",
        ),
    ),
}


@dataclass(frozen=True)
class WebFamily:
    """One family; see the head of its YAML file. `never_learned`: no procedure is made of it."""

    application: str
    name: str
    goal: str
    values: Mapping[str, tuple[str, ...]]
    before: tuple[str, ...]
    query: str
    expected: tuple[str, ...]
    touches: tuple[str, ...]
    way: tuple[str, ...]
    never_learned: bool = False

    def filled(self, text: str, seed: int) -> str:
        """A text with the values of a variant in its slots."""
        values = {slot: pool[(seed + at) % len(pool)] for at, (slot, pool) in enumerate(self.values.items())}
        return _SLOT.sub(lambda match: values[match.group(1)], text)


class WebTask:
    """A family as an environment.

    Args:
        family: "trac/close-ticket" and such, one of `web_families`.
        browser: shared with other environments; the application is kept with it.

    Raises:
        UsageError: there is no such family.
    """

    def __init__(self, family: str, browser: Browser) -> None:
        if family not in web_families():
            raise UsageError(f"there is no web task {family!r}")
        self.family = web_families()[family]
        self.name = f"web/{family}"
        self._application = APPLICATIONS[self.family.application]
        self._browser, self._page, self._seed = browser, AccessiblePage(browser), 0
        self._before: dict[str, Rows] = {}
        self._reached = False
        self._unasked: frozenset[str] = frozenset()

    def reset(self, seed: int, start: int | None = None) -> Observation:
        """Put the database back, make the variant's start in it (or that of another), and open the first page."""
        self._seed = seed
        server = self._server()
        laid_out = seed if start is None else start
        server.reset([self.family.filled(one, laid_out) for one in self.family.before])
        self._before = self._tables()
        self._browser.devtools("Network.clearBrowserCookies")
        self._browser.open(server.url + "/")
        return self._observe()

    def step(self, command: Command) -> Reply:
        """Carry out one command."""
        error = None if command.function == "switch_application" else self._page.act(command)
        return Reply(self._observe(), "failure" if error else "success", error)

    @property
    def done(self) -> bool:
        """True when the task is reached."""
        return self._reached

    @property
    def over(self) -> bool:
        """An application of this kind never ends by itself."""
        return False

    @property
    def score(self) -> float:
        """1.0 when the database holds what the goal asks for."""
        return float(self._reached)

    @property
    def unasked(self) -> frozenset[str]:
        """Tables that have changed although the task does not touch them."""
        return self._unasked

    @property
    def application(self) -> str:
        """Where the task is done."""
        return self._application.name

    @property
    def changed(self) -> frozenset[str]:
        """Tables that have changed, whether the task touches them or not."""
        return frozenset(table for table, rows in self._tables().items() if rows != self._before[table])

    def holds(self, value: str) -> bool:
        """True when a row that was not there at the start holds this very value."""
        return any(
            value in row for table, rows in self._tables().items() for row in rows if row not in self._before[table]
        )

    @property
    def way(self) -> tuple[str, ...]:
        """One short way for the present variant."""
        return tuple(self.family.filled(one, self._seed) for one in self.family.way)

    def close(self) -> None:
        """Nothing to give up: the application goes with the browser."""

    def demonstrate(self, seed: int) -> Iterator[Command]:
        """Walk the way of a variant, yielding each command that is carried out.

        Raises:
            UsageError: a control of the way is not on the page.
        """
        observation = self.reset(seed)
        for word in self.way:
            command = command_of(word, observation)
            if command is not None:
                yield command
                observation = self.step(command).observation

    def _server(self) -> WebServer:
        return self._browser.keep(self.family.application, self._application.start)

    def _observe(self) -> Observation:
        page = self._page.read()
        found = {
            str(row[0]) if len(row) == 1 else "|".join(map(str, row)) for row in self._server().rows(self._query())
        }
        self._reached = found == {self.family.filled(one, self._seed) for one in self.family.expected}
        now = self._tables()
        self._unasked = frozenset(
            table for table, rows in now.items() if rows != self._before[table] and table not in self.family.touches
        )
        name = self._application.name
        goal = self.family.filled(self.family.goal, self._seed)
        return Observation(goal, name, page.title, page.controls, (name,), page.status)

    def _query(self) -> str:
        return self.family.filled(self.family.query, self._seed)

    def _tables(self) -> dict[str, Rows]:
        return {table: self._server().rows(f'SELECT * FROM "{table}"') for table in self._application.tables}


@cache
def web_families() -> Mapping[str, WebFamily]:
    """All families by "application/name", in the order of the files."""
    import yaml

    found = {}
    for application in APPLICATIONS:
        text = Path(__file__).with_name(f"{application}.yaml").read_text(encoding="utf-8")
        for entry in yaml.safe_load(text):
            found[f"{application}/{entry['name']}"] = _family(application, entry)
    return found


def _family(application: str, entry: Mapping[str, Any]) -> WebFamily:
    query, *expected = entry["check"]
    return WebFamily(
        application,
        entry["name"],
        entry["goal"],
        {slot: tuple(map(str, pool)) for slot, pool in entry.get("with", {}).items()},
        tuple(entry.get("before", ())),
        query,
        tuple(map(str, expected)),
        tuple(entry["touches"]),
        tuple(entry["way"]),
        bool(entry.get("never_learned")),
    )
