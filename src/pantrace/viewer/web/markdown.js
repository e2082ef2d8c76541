// Markdown by its tokens: elements are made one by one, and HTML in it is shown as the text that it is.
import { h, textNode } from './dom.js';
import { code } from './code.js';

const MARKDOWN_LONGEST = 100000;
const SIGNS = /(^|\n)(#{1,6} |[-*+] |\d+[.)] |> |```|~~~|\|.*\|)|\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\n]+\)/;

export function looksLikeMarkdown(text) {
  return text.length <= MARKDOWN_LONGEST && SIGNS.test(text);
}

export function markdown(text) {
  if (!globalThis.marked) loadMarked();
  try {
    return h('div.markdown', { dir: 'auto' }, blockNodes(globalThis.marked.lexer(text, { gfm: true, breaks: true }), 0));
  } catch {
    return h('pre.plain', {}, text); // nested deeper than the parser can follow
  }
}

function blockNodes(tokens, depth) {
  if (depth > 60) return tokens.map((token) => textNode(token.raw));
  return tokens.map((token) => block(token, depth + 1));
}

function block(token, depth) {
  switch (token.type) {
    case 'space': return null;
    case 'def': return h('p', {}, token.raw);
    case 'heading': return h('h' + Math.min(6, token.depth + 2), {}, inline(token.tokens, depth));
    case 'paragraph': return h('p', {}, inline(token.tokens, depth));
    case 'text': return token.tokens ? h('span', {}, inline(token.tokens, depth)) : textNode(unescaped(token));
    case 'code': return code(token.text, token.lang);
    case 'blockquote': return h('blockquote', {}, blockNodes(token.tokens, depth));
    case 'hr': return h('hr');
    case 'list': return h(token.ordered ? 'ol' : 'ul', { start: token.ordered && token.start !== 1 ? token.start : null },
      token.items.map((item) => h('li', {}, item.task ? (item.checked ? '☑ ' : '☐ ') : null,
        blockNodes(item.tokens.filter((each) => each.type !== 'checkbox'), depth))));
    case 'table': return h('div.wide', {}, h('table', {},
      h('thead', {}, h('tr', {}, token.header.map((cell) => h('th', {}, inline(cell.tokens, depth))))),
      h('tbody', {}, token.rows.map((row) => h('tr', {}, row.map((cell) => h('td', {}, inline(cell.tokens, depth))))))));
    case 'html': return h('pre.plain', {}, token.raw);
    default: return textNode(token.raw);
  }
}

function inline(tokens, depth) {
  if (!tokens || depth > 60) return (tokens || []).map((token) => textNode(token.raw));
  return tokens.map((token) => {
    switch (token.type) {
      case 'strong': return h('strong', {}, inline(token.tokens, depth + 1));
      case 'em': return h('em', {}, inline(token.tokens, depth + 1));
      case 'del': return h('del', {}, inline(token.tokens, depth + 1));
      case 'codespan': return h('code', {}, token.text);
      case 'br': return h('br');
      case 'escape': return textNode(token.text);
      case 'link': return link(token, depth);
      case 'image': return textNode(token.raw);
      case 'text': return token.tokens ? inline(token.tokens, depth + 1) : textNode(unescaped(token));
      default: return textNode(token.raw);
    }
  });
}

// The parser escapes some texts for HTML that we never make; the source has them as they are.
function unescaped(token) {
  return token.raw.endsWith('\n') ? token.raw.slice(0, -1) : token.raw;
}

// A link says where it leads, whatever it calls itself.
function link(token, depth) {
  const address = webAddress(token.href);
  if (!address) return textNode(token.raw);
  const words = h('span', {}, inline(token.tokens, depth + 1));
  const same = words.textContent === token.href || words.textContent === address || 'https://' + words.textContent === address;
  return h('span', {}, h('a', { href: address, rel: 'noopener noreferrer', target: '_blank' }, words),
    same ? null : h('span.address', {}, ' (' + address + ')'));
}

export function webAddress(text) {
  try {
    const found = new URL(text);
    return ['http:', 'https:', 'mailto:'].includes(found.protocol) ? found.href : null;
  } catch {
    return null;
  }
}
