// Keys for the lists, a count of what is chosen, and a search that follows the typing. Everything works without this.
"use strict";

const rows = () => [...document.querySelectorAll(".records .row, form.row")];
let here = -1;

function move(by) {
  const all = rows();
  if (!all.length) return;
  here = Math.min(Math.max(here + by, 0), all.length - 1);
  all.forEach((row, place) => row.classList.toggle("here", place === here));
  all[here].scrollIntoView({ block: "nearest" });
  const link = all[here].querySelector("a.task");
  if (link) link.focus({ preventScroll: true });
}

function current() {
  const all = rows();
  if (here < 0 && all.length === 1) here = 0;
  return all[here];
}

function change(verb) {
  const row = current();
  if (!row) return;
  const form = row.closest("form");
  form.querySelectorAll("input[type=checkbox][name=record]").forEach((box) => {
    box.checked = box.closest(".row") === row;
  });
  const button = form.querySelector(`button[value=${verb}]`);
  if (button) form.requestSubmit(button);
}

function count() {
  document.querySelectorAll(".records").forEach((form) => {
    const place = form.querySelector(".count");
    const chosen = form.querySelectorAll("input[name=record]:checked").length;
    if (!place) return;
    place.textContent = chosen ? `${chosen} chosen` : "";
    place.closest(".bar").hidden = !chosen;
  });
}

const actions = {
  j: () => move(1),
  k: () => move(-1),
  a: () => change("approve"),
  q: () => change("quarantine"),
  w: () => change("worked"),
  f: () => change("failed"),
  e: () => { const row = current(); if (row && row.dataset.id) location.href = `/experience/${row.dataset.id}/edit`; },
  x: () => {
    const box = current() && current().querySelector("input[type=checkbox]");
    if (box) { box.checked = !box.checked; count(); }
  },
  "/": () => { const field = document.querySelector("input[type=search]"); if (field) field.focus(); },
  "?": () => { const keys = document.getElementById("keys"); if (!keys.open) keys.showModal(); },
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
});
document.addEventListener("change", count);
count();
if (document.querySelector(".did")) move(1); // a change was just made: the next record is at hand
