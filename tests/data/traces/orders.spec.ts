import { test, expect } from '@playwright/test';

test('Cancel an order', async ({ page }) => {
  await page.goto('https://shop.example/orders');
  await page.getByRole('row', { name: '1017 Ann Lee' }).getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Cancel order…', exact: true }).click();
  await page.getByRole('dialog', { name: 'Cancel order' }).getByLabel('Reason').fill('It\'s late');
  await expect(page.getByText('Sure?')).toBeVisible();
  await page.getByRole('dialog').getByRole('button', { name: 'Yes' }).click();
});

test('Export the orders', async ({ page }) => {
  await page.goto('https://shop.example/orders');
  await page.getByTestId('format').selectOption('csv');
  const page1Promise = page.waitForEvent('popup');
  await page.getByText('Export', { exact: true }).first().click();
  const page1 = await page1Promise;
  await page1.getByLabel('File name').press('Enter');
});
