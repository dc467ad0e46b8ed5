{
  // The option that is said, by its label or value; false where there is none.
  choose(said) {
    const one = [...(this.options || [])].find(o => o.label.trim() === said || o.value === said);
    if (!one) return false;
    this.value = one.value;
    for (const kind of ['input', 'change']) this.dispatchEvent(new Event(kind, {bubbles: true}));
    return true;
  },
  centre() {
    (this.nodeType === 1 ? this : this.parentElement).scrollIntoView({block: 'center', behavior: 'instant'});
  },
  isHit(x, y) {
    const own = this.nodeType === 1 ? this : this.parentElement, there = document.elementFromPoint(x, y);
    return own.contains(there) || [...(own.labels || [])].some(one => one.contains(there));
  },
  selectAll() {
    if (this.select) this.select(); else document.execCommand('selectAll');
  },
  tellOfChange() {
    this.dispatchEvent(new Event('change', {bubbles: true}));
  },
  isList() {
    return this.tagName === 'SELECT';
  },
}
