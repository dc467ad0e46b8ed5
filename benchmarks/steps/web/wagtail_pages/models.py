"""Kinds of pages, two kinds of snippets and the settings of a small society's site."""

from __future__ import annotations

from django.db import models
from wagtail.admin.panels import FieldPanel, FieldRowPanel, MultiFieldPanel
from wagtail.contrib.settings.models import BaseSiteSetting, register_setting
from wagtail.models import DraftStateMixin, Page, RevisionMixin
from wagtail.snippets.models import register_snippet

LEVELS = ("news", "hint", "warning", "closure", "alarm", "emergency")


class SectionPage(Page):  # type: ignore[misc]
    """A list of articles."""

    template = "wagtail_pages/page.html"


class ArticlePage(Page):  # type: ignore[misc]
    """An article."""

    intro = models.CharField("Introduction", max_length=250, blank=True)
    byline = models.CharField(max_length=80, blank=True)
    contact_phone = models.CharField(max_length=40, blank=True)
    place = models.CharField(max_length=80, blank=True)
    featured = models.BooleanField("Featured on the home page", default=False)

    content_panels = (
        *Page.content_panels,
        FieldPanel("intro"),
        MultiFieldPanel([FieldPanel("byline"), FieldPanel("contact_phone"), FieldPanel("place")], heading="Details"),
        FieldPanel("featured"),
    )
    template = "wagtail_pages/page.html"


@register_snippet
class Person(models.Model):  # type: ignore[misc]
    """Somebody of the society's office."""

    name = models.CharField(max_length=80)
    job = models.CharField(max_length=80, blank=True)
    phone = models.CharField(max_length=40, blank=True)
    room = models.CharField(max_length=20, blank=True)

    panels = (FieldPanel("name"), FieldRowPanel([FieldPanel("job"), FieldPanel("phone")]), FieldPanel("room"))

    class Meta:
        """How it is called."""

        verbose_name_plural = "people"

    def __str__(self) -> str:
        return str(self.name)


@register_snippet
class Notice(DraftStateMixin, RevisionMixin, models.Model):  # type: ignore[misc]
    """A line above all pages."""

    text = models.CharField(max_length=200)
    level = models.CharField(max_length=10, default="news", choices=[(one, one.capitalize()) for one in LEVELS])

    panels = (FieldPanel("text"), FieldPanel("level"))

    def __str__(self) -> str:
        return str(self.text)


@register_setting
class OfficeDetails(BaseSiteSetting):  # type: ignore[misc]
    """What stands at the foot of all pages."""

    street = models.CharField(max_length=120, blank=True)
    telephone = models.CharField(max_length=40, blank=True)
    opening_hours = models.CharField(max_length=120, blank=True)
    show_map = models.BooleanField(default=True)

    class Meta:
        """How it is called."""

        verbose_name = "office details"
