// One control in five has another name or another place, chosen by SEED and its own name: in every page, at any time.
(() => {
  const names = Object.fromEntries(Object.entries(NAMES).map(([old, now]) => [old.toLowerCase(), now]));
  const done = new WeakSet();
  const hash = (text) => [...`${SEED}/${text}`].reduce((sum, one) => Math.imul(sum ^ one.codePointAt(0), 16777619) >>> 0, 2166136261);
  const chosen = (text) => {
    const value = hash(text);
    return (value >>> 8) % 5 ? '' : (value >>> 20) % 2 && names[text] ? 'renamed' : 'moved';
  };
  const core = (text) => text.replace(/[\s:▾]+$/, '').trim();
  const move = (one) => {
    const item = one.closest('li, p, tr, .form-row, .field') || one;
    const next = item.nextElementSibling;
    if (next && next.tagName === item.tagName) item.parentNode.insertBefore(next, item);
  };
  const change = (one, text, rename) => {
    const said = core(text), key = said.toLowerCase();
    if (!said || done.has(one)) return;
    done.add(one);
    if (chosen(key) === 'renamed') rename(text.replace(said, names[key]));
    if (chosen(key) === 'moved') move(one);
  };
  const all = () => {
    for (const one of document.querySelectorAll('input[type=submit], input[type=button]'))
      change(one, one.value, (now) => { one.value = now; });
    for (const one of document.querySelectorAll('[aria-label], a[title]'))
      for (const kind of ['aria-label', 'title'])
        if (one.getAttribute(kind) && one.matches('a, button, input, select, textarea'))
          change(one, one.getAttribute(kind), (now) => one.setAttribute(kind, now));
    for (const one of document.querySelectorAll('a, button, label, th, [role=tab], [role=menuitem], [role=button]')) {
      const texts = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode())
        if (core(text.data)) change(text.parentElement, text.data, (now) => { text.data = now; });
    }
  };
  const watch = () => { all(); new MutationObserver(all).observe(document.body, { childList: true, subtree: true }); };
  document.body ? watch() : document.addEventListener('DOMContentLoaded', watch);
})();
