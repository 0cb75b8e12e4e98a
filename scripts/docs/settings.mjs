const BLOCK = /(<!-- settings: (.*?) -->\n)[\s\S]*?(<!-- end of settings -->)/g;
const DOCSTRING = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+): Setting</g;

/**
 * The page of all settings with its tables written again. A comment `<!-- settings: names -->` begins a table of the settings
 * that it names; `others` are those that no comment names. Nothing else on the page is generated. `declarations` is the
 * declaration file of the table, where editors find the docstrings. Each ends with the variable and the default of its row;
 * `problems` has a sentence for each that does not.
 */
export function renderSettings(page, declarations, { SETTINGS, VARIABLES_ONLY, renderDefault }) {
  const problems = [];
  const described = new Map([...declarations.matchAll(DOCSTRING)].map(([, doc, name]) => [name, readDoc(doc)]));
  const listed = [...page.matchAll(BLOCK)].flatMap(([, , names]) => names.split(", "));
  const others = Object.keys(SETTINGS).filter((name) => !listed.includes(name));
  const text = page.replace(BLOCK, (_all, begin, names, end) => {
    const rows = (names === "others" ? others : names.split(", ")).map((name) => {
      const setting = SETTINGS[name];
      if (!setting) throw new Error(`docs/reference/settings.md names ${name}, which is not a setting`);
      const source = describeSource(setting, renderDefault(setting) ?? "none");
      const doc = described.get(name) ?? "";
      if (!doc.endsWith(` ${source}`)) problems.push(`The docstring of the setting ${name} must end with: ${source}`);
      const about = [doc.slice(0, -source.length - 1), setting.see && `See ${setting.see}.`].filter(Boolean).join(" ");
      const option = VARIABLES_ONLY.includes(name) ? "–" : `\`${name}\``;
      const variable = setting.variable ? `\`${setting.variable}\`` : "–";
      return `| ${option} | ${variable} | ${describeValues(setting)} | ${renderDefault(setting) ?? "–"} | ${about} |\n`;
    });
    return `${begin}| option | variable | values | default | |\n|---|---|---|---|---|\n${rows.join("")}${end}`;
  });
  return { page: text, problems };
}

function readDoc(doc) {
  return doc
    .replace(/^\s*\*/gm, "")
    .replace(/\s+/g, " ")
    .trim();
}

function describeSource({ variable, kind }, shown) {
  if (variable === undefined) return `Default ${shown}.`;
  return `\`${variable}\`${kind.variable === undefined ? "" : " (seconds)"}, default ${shown}.`;
}

/** Of a setting whose option and variable differ in their unit, the values of the option come first. */
function describeValues({ kind }) {
  const values = kind.choices?.map((word) => `\`${word}\``).join(", ") ?? kind.expects;
  return kind.variable === undefined ? values : `${values}; variable: ${kind.variable.expects}`;
}
