"""The pages of a small society, as an application of Django for `wagtail_site`."""
