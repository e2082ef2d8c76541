// Terminal colours as classes. Other escape sequences are left out; what they would hide stays in the text.
import { h } from './dom.js';

const ESCAPE = /\u001b\[([0-9;:<=>?]*)([@-~])|\u001b\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

export function hasAnsi(text) {
  return text.includes('\u001b[');
}

export function ansi(text) {
  const lines = h('pre.plain');
  let state = {};
  let from = 0;
  const say = (words) => {
    if (!words) return;
    const classes = Object.entries(state).filter(([, on]) => on).map(([name, on]) => (on === true ? 'ansi-' + name : on));
    lines.append(classes.length ? h('span', { class: classes.join(' ') }, words) : h('span', {}, words));
  };
  for (const found of text.matchAll(ESCAPE)) {
    say(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === 'm') state = styled(state, found[1]);
  }
  say(text.slice(from));
  return lines;
}

function styled(before, codes) {
  let state = { ...before };
  const numbers = codes.split(/[;:]/).map(Number);
  for (let place = 0; place < numbers.length; place += 1) {
    const code = numbers[place];
    if (code === 0) state = {};
    else if (code === 1) state.bold = true;
    else if (code === 2) state.dim = true;
    else if (code === 3) state.italic = true;
    else if (code === 4) state.underline = true;
    else if (code === 7) state.inverse = true;
    else if (code === 22) state.bold = state.dim = false;
    else if (code === 23) state.italic = false;
    else if (code === 24) state.underline = false;
    else if (code >= 30 && code <= 37) state.front = 'ansi-' + (code - 30);
    else if (code >= 90 && code <= 97) state.front = 'ansi-' + (code - 90 + 8);
    else if (code === 39) state.front = null;
    else if (code >= 40 && code <= 47) state.back = 'ansi-on-' + (code - 40);
    else if (code >= 100 && code <= 107) state.back = 'ansi-on-' + (code - 100);
    else if (code === 49) state.back = null;
    else if (code === 38 || code === 48) {
      // 256 colours and true colour come down to the sixteen that have a good contrast in both themes.
      const name = code === 38 ? 'front' : 'back';
      if (numbers[place + 1] === 5) {
        if (numbers[place + 2] < 16) state[name] = (code === 38 ? 'ansi-' : 'ansi-on-') + (numbers[place + 2] % (code === 38 ? 16 : 8));
        place += 2;
      } else if (numbers[place + 1] === 2) {
        place += 4;
      }
    }
  }
  return state;
}
