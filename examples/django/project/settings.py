"""The settings of the project; the last one is for the search."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "testserver"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "shop.db"}}
DEBUG = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["shop"]
ROOT_URLCONF = "project.urls"
SECRET_KEY = "of an example"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

# `sonicpy serve` answers at this address. The tests of the project search in memory.
SEARCH = ":memory:" if "test" in sys.argv else "sonic://localhost:1491"
