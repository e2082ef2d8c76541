// A step or a sample as Markdown or JSON, to paste elsewhere.
import { h } from './dom.js';
import { Cut } from './source.js';
import { describe } from './screen.js';

export async function toClipboard(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notice(what + ' copied');
  } catch {
    // Pages from file:// may be refused: then the text is selected for the person to copy.
    const area = h('textarea', { readonly: true, rows: 16, 'aria-label': what });
    area.value = text;
    const dialog = h('dialog.sheet', { onclose: () => dialog.remove() }, h('h2', {}, 'Copy this'), area,
      h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'));
    document.body.append(dialog);
    dialog.showModal();
    area.select();
  }
}

export function notice(words) {
  const box = h('div.notice', { role: 'status' }, words);
  document.body.append(box);
  setTimeout(() => box.remove(), 2200);
}

// Back-ticks inside a text must not end the fence around it.
function fenced(text, language = '') {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((found) => found[0].length));
  const fence = '`'.repeat(longest + 1);
  return fence + language + '\n' + text + '\n' + fence;
}

function plainWords(value) {
  if (value instanceof Cut) return value.image ? '[picture]' : value.number ?? value.head + '… [cut]';
  return typeof value === 'string' ? value : JSON.stringify(value, plainCuts, 1);
}

export function plainCuts(_, value) {
  return value instanceof Cut ? plainWords(value) : value;
}

export function stepAsMarkdown(record, number) {
  const [step, ...answers] = record.steps;
  const lines = ['### ' + number + ' · ' + (step.agent || step.role) + (step.kind && step.kind !== 'message' ? ' (' + step.kind + ')' : '')];
  for (const each of [step, ...answers]) {
    for (const part of each.parts || []) lines.push(partAsMarkdown(part));
    if (each.error) lines.push('**Error:** ' + (each.error.kind || '') + ' ' + (each.error.message || ''));
  }
  return lines.filter(Boolean).join('\n\n');
}

function partAsMarkdown(part) {
  switch (part.type) {
    case 'text': return plainWords(part.text);
    case 'thinking': return part.text ? '> ' + plainWords(part.text).replaceAll('\n', '\n> ') : '> (hidden thought)';
    case 'call': return '**Call** `' + part.name + '`\n\n' + fenced(plainWords(part.arguments ?? {}), 'json');
    case 'result': return '**Result**' + (part.error || part.failure ? ' (failed)' : '') + '\n\n' + fenced(plainWords(part.error ?? part.output ?? ''));
    case 'action': return '**Action** ' + describe(part);
    case 'media': return '[' + (part.mime || 'file') + (part.uri ? ' ' + plainWords(part.uri) : '') + ']';
    case 'citation': return '[' + (part.title || part.uri || 'source') + '](' + (part.uri || '') + ')';
    default: return fenced(plainWords(part.raw ?? ''), 'json');
  }
}

export function sampleAsMarkdown(page, records) {
  const lines = ['# ' + (page.title || page.id), 'Sample `' + page.id + '`' + (page.outcome ? ' · ' + page.outcome.status : '')];
  for (const score of page.scores) lines.push('- ' + score.name + ': ' + (score.status === 'scored' ? score.value : score.status) + (score.explanation ? ' (' + plainWords(score.explanation) + ')' : ''));
  return [...lines, ...records.map((record, place) => stepAsMarkdown(record, place + 1))].join('\n\n') + '\n';
}
