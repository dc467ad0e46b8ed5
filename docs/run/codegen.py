from playwright.sync_api import Page


def test_give_the_user_tkent_the_role_editor(page: Page) -> None:
    page.get_by_role("link", name="Staff").click()
    page.get_by_role("row", name="tkent Tom Kent Remove").get_by_role("link", name="Tom Kent").click()
    page.get_by_label("Role").select_option("editor")
    page.get_by_role("button", name="Save").click()
