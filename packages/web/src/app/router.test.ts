import { describe, expect, test } from "vitest";
import { hrefOf, type PageRoute, parseRoute, ROLLOUTS } from "./router.js";

const ROUTES: [href: string, route: PageRoute][] = [
  ["#/play", { view: "play", step: null }],
  ["#/play/step/3", { view: "play", step: 3 }],
  ["#/play/from/3f2a/step/0", { view: "play", from: "3f2a", step: 0 }],
  ["#/server", { view: "server" }],
  ["#/about", { view: "about" }],
  ["#/session/a1b2c3d4e5f6", { view: "session", handle: "a1b2c3d4e5f6" }],
  ["#/compare/left/right/step/4", { view: "compare", a: "left", b: "right", step: 4 }],
  ["#/rollouts", ROLLOUTS],
  ["#/rollouts/r1/step/12", { ...ROLLOUTS, id: "r1", step: 12 }],
  [
    "#/rollouts?q=reward:%3C0.2+error:%22a+b%22&by=group&sort=-spread&sel=r1",
    { ...ROLLOUTS, q: 'reward:<0.2 error:"a b"', by: "group", sort: "-spread", sel: "r1" },
  ],
  ["#/rollouts/a%2Fb%3Fc?q=%2B+%26+%25+%23", { ...ROLLOUTS, id: "a/b?c", q: "+ & % #" }],
];

describe("routes", () => {
  test.each(ROUTES)("%s is read and written", (href, route) => {
    expect(parseRoute(href)).toEqual(route);
    expect(hrefOf(route)).toBe(href);
  });

  test.each([
    "",
    "#",
    "#/",
    "#/nothing",
    "#/session",
    "#/compare/only-one",
    "#/play/step/-1",
    "#/play/step/1e3",
    "#/play/step/99999999999",
    "#%E0%A4%A",
  ])("%j names no view or step and is Play", (href) => {
    expect(parseRoute(href)).toEqual({ view: "play", step: null });
  });

  test("a part that is not an encoding is taken as it is", () => {
    expect(parseRoute("#/rollouts/%E0%A4%A?by=rows&q=%E0%A4%A")).toMatchObject({ id: "%E0%A4%A", by: "episode" });
  });

  test("a query begins and ends with a term", () => {
    expect(parseRoute("#/rollouts?q=+run:a+")).toEqual({ ...ROLLOUTS, q: "run:a" });
  });

  test("a path after the query is part of the query", () => {
    expect(parseRoute("#/rollouts?q=a?b/c")).toEqual({ ...ROLLOUTS, q: "a?b/c" });
  });
});
