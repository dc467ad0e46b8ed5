import re

from playwright.sync_api import Playwright, expect, sync_playwright


def run(playwright: Playwright) -> None:
    browser = playwright.chromium.launch(headless=False)
    context = browser.new_context()
    page = context.new_page()
    page.goto("https://admin.example/users")
    page.get_by_placeholder("User name").fill("root")
    page.get_by_label("Password").fill("hunter2-Secret!")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("row", name="mlopez Maria Lopez").get_by_role("link", name="Edit").click()
    page.get_by_role("listitem").filter(has_text="Languages").get_by_role("button", name="Add").nth(1).click()
    page.get_by_label("Group").select_option("translators")
    page.get_by_label('Send "welcome" mail').check()
    page.get_by_role("textbox", name="Note").press("Control+a")
    expect(page.get_by_text("Saved")).to_be_visible()
    # page.get_by_role("button", name="Delete").click()
    page.locator("#save").click()
    page.get_by_role("heading", name=re.compile(r"User .* updated")).click(button="right")

    # ---------------------
    context.close()
    browser.close()


with sync_playwright() as playwright:
    run(playwright)
