/* xterm.js writes its styles into <style> elements, which the page's policy forbids (style-src 'self'). Sheets that are made
 * by script are no inline styles: so a "style" element here is one that carries such a sheet. The same for style attributes. */
'use strict';
(() => {
  class SheetElement extends HTMLElement {
    constructor() {
      super();
      this.sheet = new CSSStyleSheet();
    }
    connectedCallback() {
      if (!document.adoptedStyleSheets.includes(this.sheet))
        document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    }
    disconnectedCallback() {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.sheet);
    }
    get textContent() { return this.written || ''; }
    set textContent(text) {
      this.written = text;
      this.sheet.replaceSync(text);
    }
  }
  customElements.define('cc-sheet', SheetElement);
  const create = Document.prototype.createElement;
  Document.prototype.createElement = function (name, ...rest) {
    return create.call(this, String(name).toLowerCase() === 'style' ? 'cc-sheet' : name, ...rest);
  };
  const set = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name, value) {
    if (String(name).toLowerCase() === 'style' && this.style)
      this.style.cssText = value;
    else
      set.call(this, name, value);
  };
})();
