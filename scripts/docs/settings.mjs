const BLOCK = /(<!-- settings: (.*?) -->\n)[\s\S]*?(<!-- end of settings -->)/g;

/**
 * The page of all settings with its tables written again. A comment `<!-- settings: names -->` begins a table of the settings
 * that it names; `others` are those that no comment names. Nothing else on the page is generated.
 */
export function renderSettings(page, { SETTINGS, TOKENS, VARIABLES_ONLY, renderDefault }) {
  const tokens = Object.entries(TOKENS).map(([name, token]) => [
    name,
    { ...token, kind: { expects: "a string that is not empty" } },
  ]);
  const settings = new Map([...Object.entries(SETTINGS), ...tokens]);
  const listed = [...page.matchAll(BLOCK)].flatMap(([, , names]) => names.split(", "));
  const others = [...settings.keys()].filter((name) => !listed.includes(name));
  return page.replace(BLOCK, (_all, begin, names, end) => {
    const rows = (names === "others" ? others : names.split(", ")).map((name) => {
      const setting = settings.get(name);
      if (!setting) throw new Error(`docs/reference/settings.md names ${name}, which is not a setting`);
      const option = VARIABLES_ONLY.includes(name) ? "–" : `\`${name}\``;
      const variable = setting.variable ? `\`${setting.variable}\`` : "–";
      const about = [setting.help, setting.more].filter(Boolean).join("; ");
      return `| ${option} | ${variable} | ${describeValues(setting)} | ${renderDefault(setting) ?? "–"} | ${about} |\n`;
    });
    return `${begin}| option | variable | values | default | |\n|---|---|---|---|---|\n${rows.join("")}${end}`;
  });
}

/** Of a setting whose option and variable differ in their unit, the values of the option come first. */
function describeValues({ kind, variableKind }) {
  const values = kind.choices?.map((word) => `\`${word}\``).join(", ") ?? kind.expects;
  return variableKind === undefined ? values : `${kind.expects}; variable: ${variableKind.expects}`;
}
