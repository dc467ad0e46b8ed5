"""The dashboard of Oscar on a small shop of tea and crockery, as a program of its own.

    python -m benchmarks.steps.web.oscar_site DATABASE prepare
    python -m benchmarks.steps.web.oscar_site DATABASE serve PORT

Whoever comes is signed in as its one administrator, "ada". Nothing is fetched from elsewhere.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

from benchmarks.steps.web.django_site import ADMINISTRATOR, SignedIn, serve

_PROCESSORS = (
    *("django.template.context_processors.request", "django.contrib.auth.context_processors.auth"),
    *("django.contrib.messages.context_processors.messages", "django.template.context_processors.i18n"),
    *("oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout"),
    *(
        "oscar.apps.communication.notifications.context_processors.notifications",
        "oscar.core.context_processors.metadata",
    ),
)
# Oscar's own page but for its first script, which it would fetch from elsewhere.
_BASE = """{% extends "oscar/base.html" %}{% load static %}{% block tracking %}{% endblock %}
{% block cdn_scripts %}<script src="{% static "oscar/js/jquery/jquery.min.js" %}"></script>{% endblock %}"""
_PIPELINE = {
    "Pending": ("Being processed", "Cancelled"),
    "Being processed": ("Complete", "Cancelled"),
    "Complete": (),
    "Cancelled": (),
}
CATEGORIES = {
    "Tea": ("Green", "Black", "Herbal"),
    "Crockery": ("Cups", "Pots", "Trays"),
    "Books": ("Recipes", "History", "Travel"),
    "Gifts": ("Hampers", "Cards", "Samplers"),
    "Sweets": ("Biscuits", "Honey", "Chocolate"),
}
PRODUCTS = {
    "Sencha 100 g": ("T-101", "Tea", "9.50"),
    "Assam 250 g": ("T-102", "Tea", "12.00"),
    "Rooibos 100 g": ("T-103", "Tea", "6.20"),
    "Lemon verbena": ("T-104", "Tea", "5.80"),
    "Darjeeling first flush": ("T-105", "Tea", "18.90"),
    "Blue mug": ("C-201", "Crockery", "8.00"),
    "Cast iron pot": ("C-202", "Crockery", "54.00"),
    "Bamboo tray": ("C-203", "Crockery", "22.50"),
    "Glass cup": ("C-204", "Crockery", "7.25"),
    "Milk jug": ("C-205", "Crockery", "11.40"),
    "The Book of Tea": ("B-301", "Book", "10.00"),
    "Baking for Four": ("B-302", "Book", "24.00"),
    "Roads to Yunnan": ("B-303", "Book", "19.00"),
    "Scones and Jam": ("B-304", "Book", "15.00"),
    "Tea Clippers": ("B-305", "Book", "29.00"),
}
KINDS = ("Tea", "Crockery", "Book", "Stationery", "Sweet")
SHELVES = (
    *("Green", "Black", "Herbal", "Herbal", "Black", "Cups", "Pots", "Trays", "Cups", "Pots"),
    *("History", "Recipes", "Travel", "Recipes", "History"),
)
PARTNERS = ("Hill Farm", "Kettle and Sons", "Northern Books", "Potters Guild", "Quay Imports")
CUSTOMERS = {
    "mlopez": "Maria Lopez",
    "tkent": "Tom Kent",
    "akim": "An Kim",
    "rvoss": "Rita Voss",
    "jsmith": "John Smith",
}
RANGES = ("Breakfast", "Bestsellers", "Winter", "For children", "Clearance")
OFFERS = ("Welcome discount", "Easter treat", "Teachers", "Summer sale", "Two for one")
VOUCHERS = ("HELLO5", "EASTER", "SCHOOL", "SUNNY", "TWICE")
PAGES = {"About us": "/about/", "Delivery": "/delivery/", "Returns": "/returns/", "Jobs": "/jobs/", "Press": "/press/"}
REVIEWS = ("Lovely colour", "Arrived broken", "Too bitter for me", "A perfect gift", "Buy cheap pills here")
OPTIONS = ("Engraving", "Gift wrap", "Greeting", "Grind", "Delivery slot")
CHOICES = {"Sizes": ("S", "M"), "Colours": ("Red", "Blue"), "Origins": ("Japan", "India"), "Leaf": ("Whole", "Broken")}
EMAILS = {
    "ORDER_PLACED": "Order placed",
    "REGISTRATION": "Registration",
    "PASSWORD_RESET": "Password reset",
    "PRODUCT_ALERT": "Back in stock",
    "EMAIL_CHANGED": "Email changed",
}
COUNTRIES = {"GB": "United Kingdom", "IE": "Ireland", "FR": "France", "PT": "Portugal", "NO": "Norway"}
_DAY = datetime(2026, 1, 1, 9, tzinfo=timezone.utc)


def configure(database: str) -> None:
    """Set Oscar up on a database file."""
    import django
    from django.conf import settings
    from oscar import INSTALLED_APPS
    from oscar import defaults as oscar_defaults

    defaults = {name: getattr(oscar_defaults, name) for name in dir(oscar_defaults) if name.isupper()}
    labels = (
        *("address", "admin", "analytics", "auth", "basket", "catalogue", "checkout", "communication", "contenttypes"),
        *("customer", "flatpages", "offer", "order", "partner", "payment", "reviews", "search", "sessions", "shipping"),
        *("sites", "thumbnail", "voucher", "wishlists"),
    )
    settings.configure(
        **defaults
        | {
            "OSCAR_SHOP_NAME": "Leaf and Cup",
            "OSCAR_INITIAL_ORDER_STATUS": "Pending",
            "OSCAR_INITIAL_LINE_STATUS": "Pending",
            "OSCAR_ORDER_STATUS_PIPELINE": _PIPELINE,
            "OSCAR_LINE_STATUS_PIPELINE": _PIPELINE,
        },
        SECRET_KEY="a throw-away site",
        ALLOWED_HOSTS=["127.0.0.1"],
        INSTALLED_APPS=[*INSTALLED_APPS, "sorl.thumbnail"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            f"{SignedIn.__module__}.SignedIn",
            "django.contrib.messages.middleware.MessageMiddleware",
            "oscar.apps.basket.middleware.BasketMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "context_processors": _PROCESSORS,
                    "loaders": [
                        ("django.template.loaders.locmem.Loader", {"oscar/dashboard/base.html": _BASE}),
                        "django.template.loaders.app_directories.Loader",
                    ],
                },
            }
        ],
        # Nothing of the database is worth waiting for the disk.
        DATABASES={
            "default": {
                "ENGINE": "django.db.backends.sqlite3",
                "NAME": database,
                "ATOMIC_REQUESTS": True,
                "OPTIONS": {"init_command": "PRAGMA synchronous=OFF"},
            }
        },
        # The database is put back behind the application, so nothing of it may be kept elsewhere.
        CACHES={"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        HAYSTACK_CONNECTIONS={"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}},
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        AUTHENTICATION_BACKENDS=["oscar.apps.customer.auth_backends.EmailBackend"],
        AUTH_PASSWORD_VALIDATORS=[],
        SITE_ID=1,
        STATIC_URL="/static/",
        # The tables as they are now, not a hundred steps to them.
        MIGRATION_MODULES={label: None for label in labels},
        MEDIA_ROOT=str(Path(database).with_name("media")),
        MEDIA_URL="/media/",
        TIME_ZONE="UTC",
        USE_TZ=True,
    )
    django.setup()
    from django.apps import apps
    from django.http import HttpResponseRedirect
    from django.urls import include, path

    settings.ROOT_URLCONF = (
        path("", lambda _: HttpResponseRedirect("/dashboard/")),
        path("i18n/", include("django.conf.urls.i18n")),
        path("", include(apps.get_app_config("oscar").urls[0])),
    )


def prepare() -> None:
    """Make the tables, the administrator and what the shop has."""
    from django.contrib.auth.models import User
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)
    User.objects.create_superuser(ADMINISTRATOR, "ada@shop.example", "unused", first_name="Ada", last_name="Reed")
    for login, name in CUSTOMERS.items():
        first, last = name.split()
        User.objects.create_user(login, f"{login}@mail.example", "unused", first_name=first, last_name=last)
    _stock()
    _sell()
    _advertise()
    _write()


def _stock() -> None:
    """Categories, suppliers and products."""
    from oscar.apps.catalogue.models import (
        AttributeOption,
        AttributeOptionGroup,
        Category,
        Option,
        Product,
        ProductCategory,
        ProductClass,
    )
    from oscar.apps.partner.models import Partner, StockAlert, StockRecord

    for name, below in CATEGORIES.items():
        above = Category.add_root(name=name)
        for one in below:
            above.add_child(name=one)
    for name in PARTNERS:
        Partner.objects.create(name=name)
    for name in OPTIONS:
        Option.objects.create(name=name)
    for name, values in CHOICES.items():
        group = AttributeOptionGroup.objects.create(name=name)
        for value in values:
            AttributeOption.objects.create(group=group, option=value)
    kinds = {name: ProductClass.objects.create(name=name) for name in KINDS}
    suppliers = {"Tea": "Hill Farm", "Crockery": "Potters Guild", "Book": "Northern Books"}
    for at, (title, (number, kind, price)) in enumerate(PRODUCTS.items()):
        product = Product.objects.create(title=title, upc=number, product_class=kinds[kind])
        ProductCategory.objects.create(product=product, category=Category.objects.get(name=SHELVES[at]))
        record = StockRecord.objects.create(
            product=product,
            partner=Partner.objects.get(name=suppliers[kind]),
            partner_sku=f"{number}-x",
            price=Decimal(price),
            num_in_stock=20 + at,
            low_stock_threshold=5,
        )
        if not at % 3:
            StockAlert.objects.create(stockrecord=record, threshold=5)


def _sell() -> None:
    """Ten orders, two of each customer, and the wish of each to be told of something."""
    from django.contrib.auth.models import User
    from oscar.apps.address.models import Country
    from oscar.apps.catalogue.models import Product
    from oscar.apps.customer.models import ProductAlert
    from oscar.apps.order.models import Line, Order, ShippingAddress, ShippingEventType

    products = list(Product.objects.order_by("id"))
    for code, name in COUNTRIES.items():
        Country.objects.create(iso_3166_1_a2=code, printable_name=name, is_shipping_country=True)
    country = Country.objects.get(iso_3166_1_a2="GB")
    for name in ("Packed", "Shipped", "Returned"):
        ShippingEventType.objects.create(name=name)
    for at in range(10):
        customer = User.objects.get(username=list(CUSTOMERS)[at % 5])
        address = ShippingAddress.objects.create(
            first_name=customer.first_name,
            last_name=customer.last_name,
            line1=f"{at + 1} High Street",
            line4="Leeds",
            postcode="LS1 4AB",
            country=country,
        )
        bought = (products[at], products[at + 5])
        total = sum(one.stockrecords.get().price for one in bought)
        order = Order.objects.create(
            number=str(100021 + at),
            user=customer,
            currency="GBP",
            total_incl_tax=total,
            total_excl_tax=total,
            shipping_address=address,
            shipping_method="Parcel",
            shipping_code="parcel",
            status="Pending" if at < 5 else "Being processed",
            date_placed=_DAY + timedelta(days=7 * at),
        )
        for product in bought:
            record = product.stockrecords.get()
            Line.objects.create(
                order=order,
                partner=record.partner,
                partner_name=record.partner.name,
                partner_sku=record.partner_sku,
                stockrecord=record,
                product=product,
                title=product.title,
                upc=product.upc,
                line_price_incl_tax=record.price,
                line_price_excl_tax=record.price,
                line_price_before_discounts_incl_tax=record.price,
                line_price_before_discounts_excl_tax=record.price,
                unit_price_incl_tax=record.price,
                unit_price_excl_tax=record.price,
                status=order.status,
                num_allocated=1,
            )
        if at < 5:
            ProductAlert.objects.create(product=products[at + 10], user=customer, status="Active")


def _advertise() -> None:
    """Ranges, offers and vouchers."""
    from oscar.apps.catalogue.models import Product
    from oscar.apps.offer.models import Benefit, Condition, ConditionalOffer, Range, RangeProduct
    from oscar.apps.voucher.models import Voucher

    products = list(Product.objects.order_by("id"))
    for at, name in enumerate(RANGES):
        part = Range.objects.create(name=name)
        for product in products[at * 2 : at * 2 + 2]:
            RangeProduct.objects.create(range=part, product=product)
    everything = Range.objects.create(name="Everything", includes_all_products=True)
    for kind, names in (("Site", OFFERS), ("Voucher", [f"With {code}" for code in VOUCHERS])):
        for name in names:
            ConditionalOffer.objects.create(
                name=name,
                offer_type=kind,
                condition=Condition.objects.create(range=everything, type="Count", value=1),
                benefit=Benefit.objects.create(range=everything, type="Percentage", value=10),
                start_datetime=_DAY,
                end_datetime=_DAY + timedelta(days=3000) if kind == "Voucher" else None,
            )
    for code in VOUCHERS:
        voucher = Voucher.objects.create(
            name=f"Voucher {code.lower()}",
            code=code,
            usage="Single use",
            start_datetime=_DAY,
            end_datetime=_DAY + timedelta(days=3000),
        )
        voucher.offers.add(ConditionalOffer.objects.get(name=f"With {code}"))


def _write() -> None:
    """Pages, mails and what customers have written."""
    from django.contrib.auth.models import User
    from django.contrib.flatpages.models import FlatPage
    from django.contrib.sites.models import Site
    from oscar.apps.catalogue.models import Product
    from oscar.apps.catalogue.reviews.models import ProductReview
    from oscar.apps.communication.models import CommunicationEventType

    products = list(Product.objects.order_by("id"))
    for title, url in PAGES.items():
        FlatPage.objects.create(title=title, url=url, content=f"<p>{title}</p>").sites.add(Site.objects.get())
    for code, name in EMAILS.items():
        CommunicationEventType.objects.create(
            code=code,
            name=name,
            category="Order related" if code == "ORDER_PLACED" else "User related",
            email_subject_template=f"{name} at our shop",
            email_body_template="Dear customer,\nthank you.",
            email_body_html_template="<p>Dear customer,</p><p>thank you.</p>",
        )
    for at, title in enumerate(REVIEWS):
        writer = User.objects.get(username=list(CUSTOMERS)[at])
        ProductReview.objects.create(
            product=products[at * 2], title=title, body=f"{title}.", score=3, user=writer, status=0
        )


if __name__ == "__main__":
    configure(sys.argv[1])
    if sys.argv[2] == "prepare":
        prepare()
    else:
        serve(int(sys.argv[3]))
