import { describe, expect, test } from "vitest";
import { NO_PICTURES, PICTURES } from "../../../test/pictures.js";
import { pictureOf } from "./picture.js";

describe("a text", () => {
  test.each(Object.entries(PICTURES))("of base64 is a picture: %s", (name, text) => {
    const type = `image/${name}`;
    expect(pictureOf(text)).toEqual({ src: `data:${type};base64,${text}`, type });
  });

  test.each(Object.entries(PICTURES))("with a data URL is a picture: %s", (name, text) => {
    const src = `data:image/${name};base64,${text}`;
    expect(pictureOf(src)).toEqual({ src, type: `image/${name}` });
  });

  test.each(Object.entries(NO_PICTURES))("is no picture: %s", (_name, text) => {
    expect(pictureOf(text)).toBeUndefined();
  });

  test.each(["data:text/html,<b>", "data:image", "data:image/", "image/png", ""])("is no picture: %j", (text) => {
    expect(pictureOf(text)).toBeUndefined();
  });
});
