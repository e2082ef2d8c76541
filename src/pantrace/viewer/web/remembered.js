// What a reader chose, kept between visits where the browser allows it.

export const report = { id: '' };

export function remembered(name, fallback) {
  try {
    const text = localStorage.getItem('pantrace:' + name);
    return text === null ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem('pantrace:' + name, JSON.stringify(value));
  } catch {
    // A full or forbidden storage only means that the choice is not remembered.
  }
}
