/** One picture of 8 by 6 pixels in base64, by its format: what environments send without a word about it. */
export const PICTURES = {
  png: "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0isAAAAHUlEQVR4nGM8ISfHgA0wMTAwWDx6iCnBiE8HlSQA6/AEDjLTuEkAAAAASUVORK5CYII=",
  jpeg: "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAAGAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAv/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AL//Z",
  gif: "R0lGODdhCAAGAIEAAMgeHgAA/wAAAAAAACwAAAAACAAGAAAIDwABCBw4MADBgwgTKlQYEAA7",
  webp: "UklGRiIAAABXRUJQVlA4TBYAAAAvB0ABAA8wHoP8j//5Dx68/z+i/9ED",
};

/** Base64 that is no picture. */
export const NO_PICTURES = {
  /** A sound of sixteen bytes, in the container that WebP has too. */
  wave: "UklGRjQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YRAAAACAgICAgICAgICAgICAgICA",
  letter: btoa("Dear reader, this is no picture, whatever you may think of it. Yours."),
  cutOff: PICTURES.gif.slice(0, 20),
  sentence: "R0lGOD is how the base64 of a GIF begins, and iVBORw0KGgo that of a PNG.",
};
