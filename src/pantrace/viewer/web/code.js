// Code with strings, comments, numbers and words of the trade told apart; one rough grammar for all languages.
import { h, textNode } from './dom.js';

const TOKEN = /(\/\/[^\n]*|#(?![0-9a-fA-F]{3,8}\b)[^\n]*|\/\*[\s\S]*?\*\/|<!--[\s\S]*?-->)|("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(\b\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?\b)|(\b(?:abstract|and|as|assert|async|await|break|case|catch|class|const|continue|def|default|del|do|done|echo|elif|else|end|enum|except|export|extends|false|False|fi|final|finally|fn|for|from|func|function|global|if|impl|implements|import|in|interface|is|lambda|let|match|mod|module|mut|new|nil|None|not|null|or|package|pass|private|protected|pub|public|raise|return|select|self|static|struct|super|switch|then|this|throw|true|True|try|type|typeof|undefined|use|var|void|where|while|with|yield)\b)/g;
const CODE_LONGEST = 40000;
const NAMES = ['comment', 'string', 'digits', 'keyword'];

export function code(text, language) {
  const block = h('pre.code', { 'data-language': language || null });
  if (text.length > CODE_LONGEST || language === 'text') {
    block.append(textNode(text));
    return block;
  }
  let from = 0;
  for (const found of text.matchAll(TOKEN)) {
    if (found.index > from) block.append(textNode(text.slice(from, found.index)));
    const kind = NAMES[found.slice(1).findIndex((each) => each !== undefined)];
    block.append(h('span', { class: 'code-' + kind }, found[0]));
    from = found.index + found[0].length;
  }
  block.append(textNode(text.slice(from)));
  return block;
}
