// Runs before any script of the page: notes what reacts to clicks and what is still to happen, and answers
// `uiPage.read(probe)` (settle, then list the visible controls) and `uiPage.locate(id)` (where to click).
(() => {
  if (window.uiPage) return;
  const SETTLE_LIMIT_MS = 2000, SHORT_TIMER_MS = 1000, MAX_NAME = 160;
  const clickable = new WeakSet(), timers = new Set();
  let listed = [];

  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if ((type === 'click' || type === 'mousedown') && this instanceof Element) clickable.add(this);
    return listen.call(this, type, ...rest);
  };
  const start = window.setTimeout.bind(window), stop = window.clearTimeout.bind(window);
  window.setTimeout = (action, delay = 0, ...rest) => {
    if (typeof action !== 'function' || delay > SHORT_TIMER_MS) return start(action, delay, ...rest);
    const id = start((...values) => { timers.delete(id); action(...values); }, delay, ...rest);
    timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => { timers.delete(id); stop(id); };

  const animated = () => !!(window.jQuery && jQuery.timers && jQuery.timers.length);
  const pictures = new Set();
  // An icon made of CSS `content` has no size, so is no visible control, until its picture is there.
  const picturesOf = (el) => (getComputedStyle(el).content.match(/url\("([^"]+)"\)/) || [])[1];
  const loadPictures = async () => {
    const fresh = [...document.querySelectorAll('body *')].map(picturesOf).filter((url) => url && !pictures.has(url));
    await Promise.all([...new Set(fresh)].map(async (url) => {
      pictures.add(url);
      const image = new Image();
      image.src = url;
      await image.decode().catch(() => null);
    }));
    if (fresh.length) await new Promise((done) => requestAnimationFrame(() => start(done, 0)));
  };
  const settle = async () => {
    const end = performance.now() + SETTLE_LIMIT_MS;
    await Promise.race([loadPictures(), new Promise((done) => start(done, SETTLE_LIMIT_MS))]);
    while ((timers.size || animated()) && performance.now() < end) await new Promise((done) => start(done, 10));
  };

  const TYPES = {
    button: 'Button', tab: 'TabItem', menuitem: 'MenuItem', menuitemcheckbox: 'MenuItem', option: 'ListItem',
    listitem: 'ListItem', row: 'DataItem', treeitem: 'TreeItem', checkbox: 'CheckBox', switch: 'CheckBox',
    radio: 'RadioButton', link: 'Hyperlink', textbox: 'Edit', searchbox: 'Edit', combobox: 'ComboBox', gridcell: 'DataItem',
  };
  const INPUTS = { checkbox: 'CheckBox', radio: 'RadioButton', button: 'Button', submit: 'Button', reset: 'Button', image: 'Button' };
  const text = (node) => (node ? node.innerText || node.textContent || '' : '').replace(/\s+/g, ' ').trim();
  const words = (code) => code.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[-_]+/g, ' ').trim();

  const nativeType = (el) => {
    const role = el.getAttribute('role');
    if (role && TYPES[role]) return el.tagName === 'INPUT' && role === 'combobox' ? 'Edit' : TYPES[role];
    switch (el.tagName) {
      case 'BUTTON': return 'Button';
      case 'SELECT': return 'ComboBox';
      case 'TEXTAREA': return 'Edit';
      case 'INPUT': return el.type === 'hidden' ? null : INPUTS[el.type] || 'Edit';
      case 'A': return el.getAttribute('role') === 'presentation' ? null : 'Hyperlink';
      default: return el.isContentEditable ? 'Edit' : null;
    }
  };
  const reacts = (el) => {
    if (/^(HTML|BODY|LABEL|OPTION|FORM|CANVAS)$/.test(el.tagName)) return false;
    if (clickable.has(el) || el.onclick) return true;
    return getComputedStyle(el).cursor === 'pointer' && getComputedStyle(el.parentElement).cursor !== 'pointer';
  };
  const typeOf = (el) => {
    const native = nativeType(el);
    if (native || !reacts(el)) return native;
    if (/^(UL|OL|TABLE|TBODY)$/.test(el.tagName) || [...el.querySelectorAll('*')].some(nativeType)) return null;
    const outer = el.parentElement;
    if (outer.closest('[role=tab],[role=menuitem],[role=treeitem]') || (!/^(UL|OL)$/.test(outer.tagName) && text(outer) === text(el) && reacts(outer))) return null;
    return el.closest('[role=menu],.ui-menu') ? 'MenuItem' : el.tagName === 'LI' || el.tagName === 'TR' ? 'ListItem' : 'Text';
  };

  const labelBefore = (el) => {
    let node = el.previousSibling;
    while (node && node.nodeType === 3 && !node.data.trim()) node = node.previousSibling;
    if (!node || (node.nodeType === 1 && nativeType(node))) return '';
    return text(node.nodeType === 3 ? { textContent: node.data } : node);
  };
  const ownText = (el) => [...el.childNodes].filter((node) => !/^(UL|OL)$/.test(node.nodeName)).map(text).join(' ').trim();
  const nameOf = (el, type) => {
    const field = /^(Edit|ComboBox|CheckBox|RadioButton)$/.test(type) && /^(INPUT|SELECT|TEXTAREA)$/.test(el.tagName);
    const by = (el.getAttribute('aria-labelledby') || '').split(' ').map((id) => text(document.getElementById(id))).join(' ').trim();
    const labels = field && el.labels ? [...el.labels].map(text).join(' ') : '';
    const value = el.tagName === 'INPUT' && type === 'Button' ? el.value : '';
    const name = by || el.getAttribute('aria-label') || labels || value || (field ? '' : el.tagName === 'LI' ? ownText(el) : text(el)) || el.placeholder ||
      el.title || el.alt || (field ? labelBefore(el) : '') || words(el.id || '') || words(el.classList[0] || '') || el.name || '';
    return name.replace(/\s+/g, ' ').trim().slice(0, MAX_NAME);
  };
  const within = (el) => {
    const outer = el.parentElement && el.parentElement.closest('[role=dialog],[role=row],[role=group],[role=tabpanel],fieldset,.email-thread,.media');
    return outer ? (outer.getAttribute('aria-label') || text(outer)).slice(0, MAX_NAME) : '';
  };

  const shown = (el) => {
    const box = el.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && el.checkVisibility({ visibilityProperty: true });
  };
  const flag = (el, attribute) => (el.hasAttribute(attribute) ? el.getAttribute(attribute) === 'true' : null);
  const roots = () => {
    const modal = [...document.querySelectorAll('[aria-modal=true],dialog:modal')].filter(shown).pop();
    return modal || document.body;
  };
  const view = (el, type, id) => {
    const box = type === 'CheckBox' || type === 'RadioButton';
    const select = el.tagName === 'SELECT';
    const chosen = select ? [...el.selectedOptions].map(text).join(', ') : null;
    return {
      id, type, name: nameOf(el, type), within: within(el), dialog: !!el.closest('[role=dialog],dialog'),
      value: select ? chosen : type === 'Edit' ? (el.isContentEditable ? text(el) : el.value) : '',
      input: el.tagName === 'INPUT' ? el.type : '',
      enabled: !el.disabled && el.getAttribute('aria-disabled') !== 'true' && !el.readOnly,
      checked: box ? (flag(el, 'aria-checked') ?? !!el.checked) : null,
      selected: flag(el, 'aria-selected') ?? flag(el, 'aria-current'), expanded: flag(el, 'aria-expanded'),
      options: select ? [...el.options].map(text) : [],
    };
  };
  const list = (skip) => {
    listed = [];
    const views = [];
    for (const el of roots().querySelectorAll('*')) {
      if (skip && el.closest(skip)) continue; // not the application's own
      const type = typeOf(el);
      if (!type || !shown(el) || (type !== 'Edit' && el.parentElement.closest('button,a'))) continue;
      listed.push(el);
      views.push(view(el, type, listed.length));
    }
    return views;
  };

  window.uiPage = {
    async read(skip, probe) {
      await settle();
      const status = [...document.querySelectorAll('[role=status],[role=alert],[aria-modal=true] p')].filter(shown).map(text).filter(Boolean);
      return { controls: list(skip), title: document.title, status, extra: probe ? new Function(`return (${probe})`)() : null };
    },
    // The centre of a control, scrolled into view; null when something covers it.
    locate(id) {
      const el = listed[id - 1];
      if (!el || !el.isConnected) return null;
      el.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      const target = (el.tagName === 'LI' && [...el.children].find((one) => !/^(UL|OL)$/.test(one.tagName) && text(one))) || el;
      for (const box of [...target.getClientRects()].filter((one) => one.width > 0)) {
        const x = box.left + box.width / 2, y = box.top + box.height / 2;
        const hit = document.elementFromPoint(x, y);
        if (hit && (el.contains(hit) || hit.contains(el))) return { x, y };
      }
      return null;
    },
    // Focus a field and select its text, so that typing replaces it. False when the page does not let us.
    focus(id) {
      const el = listed[id - 1];
      if (!el || !el.isConnected) return false;
      el.scrollIntoView({ block: 'nearest' });
      el.focus();
      if (el.select) el.select();
      else document.getSelection().selectAllChildren(el);
      return document.activeElement === el;
    },
    // Pick an option by its text, or set a value that cannot be typed (dates and times).
    assign(id, value) {
      const el = listed[id - 1];
      if (!el || !el.isConnected) return false;
      if (el.tagName === 'SELECT') {
        const option = [...el.options].find((one) => text(one) === value);
        if (!option) return false;
        if (!el.multiple) el.selectedIndex = option.index;
        option.selected = true;
      } else el.value = value;
      for (const type of ['input', 'change']) el.dispatchEvent(new Event(type, { bubbles: true }));
      return el.tagName === 'SELECT' || el.value === value;
    },
  };
})();
