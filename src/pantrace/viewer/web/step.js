// One step as a person wants to read it: who, what was said, thought, called and answered, and what went wrong.
import { h, icon, iconButton } from './dom.js';
import { Cut } from './source.js';
import { callArguments, text, value } from './texts.js';
import { agreement, describe, screenshot } from './screen.js';
import { plainCuts, stepAsMarkdown, toClipboard } from './copying.js';
import { webAddress } from './markdown.js';
import { tree } from './json_tree.js';
import { ESTIMATED, clock, compact, duration, money, plural } from './words.js';

const KIND_WORDS = {
  compaction: 'context was compacted here', synthetic: 'inserted by the program', copied: 'copied from another session',
  user_shell: 'run by the user', note: 'note',
};

const USUAL_STOPS = ['stop', 'end_turn', 'tool_calls', 'tool_call', 'tool_use', 'function_call', 'completed'];

export function stepShell(head, place, number) {
  return h('article.step', {
    class: [head.role, head.kind !== 'message' ? 'kind-' + head.kind : '', head.failed ? 'failed' : '', head.active ? '' : 'abandoned', 'depth-' + Math.min(head.depth, 5)].join(' '),
    id: 'step-' + number, tabindex: '-1', 'data-place': place, 'aria-label': 'step ' + number + ', ' + (head.agent || head.role),
  });
}

export function drawStep(shell, head, number, record, options) {
  shell.append(header(head, number, record, options));
  if (options.replaced) shell.append(replacedLine(options));
  const [step, ...answers] = record.steps;
  const body = h('div.parts');
  const media = new Map(record.steps.flatMap((each) => each.parts || []).filter((part) => part.type === 'media' && part.id).map((part) => [part.id, part]));
  const shown = new Set((step.parts || []).filter((part) => part.type === 'action').map((part) => part.before).filter((id) => media.has(id)));
  const answered = new Set(record.pairs.filter(([, where]) => where === -1).map(([, , there]) => there));
  const others = (step.parts || []).filter((part) => part.type === 'unknown');
  (step.parts || []).forEach((part, place) => {
    if (part.type === 'call') body.append(call(part, answerOf(record, place), options));
    else if (part.type === 'action') body.append(gui(part, media, record.expected?.[place]));
    else if (part.type === 'unknown') return;
    else if (part.type === 'media' && shown.has(part.id)) return;
    else if (part.type === 'result' && answered.has(place)) return;
    else body.append(plainPart(part, head, options));
  });
  for (const each of [step, ...answers]) {
    if (each.error) body.append(failure(each.error));
    if (each.state_delta) body.append(folder('state', 'State changed: ' + Object.keys(each.state_delta).slice(0, 6).join(', '), () => value(each.state_delta), false));
  }
  if (others.length) body.append(folder('other', 'Other records: ' + [...new Set(others.map((part) => String(part.kind).split(':').pop()))].join(', '), () => others.map((part) => h('div', {}, h('b.quiet', {}, part.kind), value(part.raw))), false));
  shell.append(body);
  if (options.label) shell.append(options.label);
  if (options.raw?.has(number)) shell.append(h('div.raw', {}, tree(record.steps.length > 1 ? record.steps : step, { open: 6, cut: (each) => text(each) })));
  return shell;
}

// Of a compaction: what the model no longer saw from here on.
function replacedLine({ replaced, go }) {
  const last = replaced[replaced.length - 1];
  return h('p.replaced', {}, 'From here on the model saw this in the place of ', replaced.length
    ? [plural(replaced.length, 'earlier step'), ': ', h('button.link', { type: 'button', onclick: () => go?.(replaced[0]) }, 'step ' + (replaced[0] + 1)), replaced.length > 1 ? [' to ', h('button.link', { type: 'button', onclick: () => go?.(last) }, 'step ' + (last + 1))] : null]
    : 'steps that this recording does not have', '.');
}

function answerOf(record, place) {
  const found = record.pairs.find(([at]) => at === place);
  return found ? record.steps[found[1] + 1].parts[found[2]] : null;
}

function header(head, number, record, options) {
  const [step] = record.steps;
  const facts = [];
  const spent = head.at != null && head.ended != null ? head.ended - head.at : null;
  if (spent) facts.push(h('span', { title: 'duration' + (head.tool_seconds ? ', of which tools ' + duration(head.tool_seconds) : '') }, duration(spent)));
  if (head.input != null || head.output != null) {
    facts.push(h('span', { title: 'tokens in and out' + usageWords(step.usage) }, compact(head.input) + ' → ' + compact(head.output)));
  }
  if (head.cost != null) facts.push(h('span', { title: 'cost' + (options.estimated ? ESTIMATED : '') }, money(head.cost, options.estimated)));
  if (options.spent && head.active && (head.input != null || head.cost != null)) facts.push(h('span.sum', { title: 'so far, with this step' }, 'Σ ' + (options.spent.cost != null ? money(options.spent.cost, options.estimated) : compact(options.spent.tokens))));
  if (head.at != null) facts.push(h('span', { title: new Date(head.at * 1000).toISOString() }, clock(head.at)));
  const badges = [];
  if (KIND_WORDS[head.kind]) badges.push(h('span.badge', {}, KIND_WORDS[head.kind]));
  if (step.purpose && step.purpose !== 'agent') badges.push(h('span.badge', {}, step.purpose.replaceAll('_', ' ')));
  if (step.stop && !USUAL_STOPS.includes(step.stop.toLowerCase().replaceAll('-', '_'))) badges.push(h('span.badge', { title: 'why the model stopped' }, step.stop));
  const rawShown = options.raw?.has(number);
  return h('header', {},
    h('span.avatar', { 'aria-hidden': 'true' }),
    h('b.who', {}, head.agent && head.role === 'agent' ? head.agent : head.role),
    step.model ? h('span.model', {}, step.model) : null,
    badges,
    h('span.grow'),
    h('span.tools', {},
      options.toggleLabel ? iconButton('up', 'Label this step', options.toggleLabel) : null,
      iconButton('link', 'Copy a link to this step', () => options.link(number)),
      iconButton('copy', 'Copy this step as Markdown', () => toClipboard(stepAsMarkdown(record, number), 'Step ' + number)),
      iconButton('code', rawShown ? 'Hide the raw record' : 'Show the raw record', () => options.toggleRaw(number)),
      iconButton('braces', 'Copy this step as JSON', () => toClipboard(JSON.stringify(record.steps.length > 1 ? record.steps : step, plainCuts, 1), 'JSON of step ' + number))),
    h('span.facts', {}, facts),
    h('a.number', { href: options.address(number), title: 'link to this step', 'aria-label': 'step ' + number }, number));
}

function usageWords(usage) {
  if (!usage) return '';
  const names = { cache_read: 'from cache', cache_write: 'written to cache', reasoning: 'reasoning', total: 'in all' };
  return Object.entries(names).filter(([name]) => usage[name] != null).map(([name, words]) => ', ' + compact(usage[name]) + ' ' + words).join('');
}

function plainPart(part, head, options) {
  switch (part.type) {
    case 'text':
      if (part.synthetic || (head.kind === 'synthetic' && !options.unfolded)) return folder('inserted', 'Inserted by the program', () => text(part.text, { prose: true }), false, part.text);
      return h('div.said', {}, text(part.text, { prose: true }));
    case 'thinking': return thinking(part, options);
    case 'result': return h('div.call', { class: isFailed(part) ? 'failed' : '' }, h('div.call-head', {}, icon('tool'), h('b', {}, part.name || 'result'), h('span.quiet', {}, 'answer')), result(part));
    case 'media': return mediaPart(part);
    case 'citation': return h('div.citation', {}, '“', part.text || part.title || '', '” ', address(part.uri, part.title));
    default: return folder('unknown', part.kind || part.type || 'unknown part', () => value(part.raw ?? part), false);
  }
}

function address(uri, title) {
  const safe = typeof uri === 'string' ? webAddress(uri) : null;
  return safe ? h('a', { href: safe, rel: 'noopener noreferrer', target: '_blank', title: safe }, title || safe) : h('span', {}, title || '', ' ', uri || '');
}

function mediaPart(part) {
  return screenshot(part) || h('div.file', {}, h('span.badge', {}, part.mime || 'file'), ' ', part.name || '', ' ',
    part.uri instanceof Cut ? text(part.uri) : part.uri || '', part.data ? value(part.data) : h('span.quiet', {}, part.uri && !(part.uri instanceof Cut) ? ' (not in this report)' : ''));
}

function thinking(part, options) {
  const words = part.text ?? part.summary;
  if (words == null || words === '') return h('div.thought.hidden', {}, part.redacted ? 'A thought that the provider hides' : 'A thought without text');
  return folder('thought', 'Thought', () => text(words, { prose: true, whole: true }), options.unfolded, words);
}

// A line that opens to what is behind it.
function folder(kind, title, draw, open, preview) {
  const first = typeof preview === 'string' ? preview.slice(0, 160).replace(/\s+/g, ' ').replace(/\*\*([^*]+)\*\*/g, '$1') : '';
  const box = h('details', { class: 'folder ' + kind, open: Boolean(open), ontoggle: () => {
    if (box.open && box.childElementCount === 1) box.append(h('div.inside', {}, draw()));
  } }, h('summary', {}, h('span.title', {}, title), first ? h('span.preview', {}, first) : null));
  if (open) box.append(h('div.inside', {}, draw()));
  return box;
}

function isFailed(answer) {
  const output = answer.output;
  return Boolean(answer.failure || answer.error || answer.exit_code ||
    (output && typeof output === 'object' && (output.status === 'error' || output.error || output.error_message)));
}

function call(part, answer, options) {
  const failed = answer !== null && isFailed(answer);
  // One time for both ends is the time at which it was written down.
  const took = answer?.started != null && answer?.ended > answer.started ? duration(answer.ended - answer.started) : '';
  const state = answer === null ? h('span.badge.warn', {}, 'no answer') : failed ? h('span.badge.bad', {}, failureWords(answer)) : null;
  const body = () => [
    h('div.arguments', {}, callArguments(part.arguments)),
    answer === null ? null : h('div.answer', {}, result(answer)),
  ];
  const box = h('details.call', { class: failed ? 'failed' : '', open: options.folded ? failed : true, ontoggle: () => {
    if (box.open && box.childElementCount === 1) box.append(h('div.inside', {}, body()));
  } }, h('summary.call-head', {}, icon('tool'), h('b', {}, part.name), h('span.preview', {}, brief(part.arguments)), state, took ? h('span.took', {}, took) : null));
  if (box.open) box.append(h('div.inside', {}, body()));
  return box;
}

function brief(given) {
  if (given == null) return '';
  if (typeof given !== 'object' || given instanceof Cut) return String(given.head ?? given).slice(0, 120);
  return Object.values(given).map((each) => (typeof each === 'string' ? each : each instanceof Cut ? '…' : JSON.stringify(each, plainCuts))).join(' ').slice(0, 120).replace(/\s+/g, ' ');
}

function failureWords(answer) {
  if (answer.exit_code) return 'exit code ' + answer.exit_code;
  return { invalid_tool: 'unknown tool', invalid_arguments: 'wrong arguments' }[answer.failure] || answer.failure || 'error';
}

function result(answer) {
  const parts = [];
  if (answer.error) parts.push(h('div.error-text', {}, text(answer.error)));
  // An answer that is nothing but its error is told once.
  const told = answer.output === answer.error || (answer.error && answer.output?.error === answer.error && Object.keys(answer.output).length === 1);
  if (answer.output !== null && answer.output !== undefined && !told) parts.push(value(answer.output, { open: 2 }));
  for (const each of answer.media || []) parts.push(mediaPart(each));
  if (answer.truncated) parts.push(h('div.quiet', {}, 'The recording holds only a part of this output.'));
  return parts.length ? h('div', {}, parts) : h('span.quiet', {}, 'nothing was recorded');
}

function gui(action, media, expected) {
  const before = media.get(action.before);
  const shot = before ? screenshot(before, action, expected) : null;
  return h('div.action', {},
    h('div.call-head', {}, icon('tool'), h('b', {}, String(action.kind).replaceAll('_', ' ')), h('span.preview', {}, describe(action).slice(String(action.kind).length).trim()),
      expected ? h('span.badge', { class: agreement(action, expected) }, 'expected: ' + describe(expected)) : null),
    shot,
    shot && (action.target || expected) ? h('p.marks-legend', {}, action.target?.point ? h('span.is-click', {}, 'what it did') : null, action.target?.box ? h('span.is-aim', {}, 'the element it aimed at') : null, expected?.target?.point ? h('span.is-wanted', {}, 'what was expected') : null) : null,
    action.raw != null && action.raw !== '' ? folder('unknown', 'As the model wrote it', () => value(action.raw), false) : null);
}

function failure(error) {
  return h('div.error-box', { role: 'note' }, h('b', {}, error.kind || 'Error'), error.message ? h('div', {}, text(error.message)) : null,
    error.traceback ? folder('unknown', 'Traceback', () => text(error.traceback, { whole: true }), false) : null);
}
