import { Document, isMap, isScalar, type Pair, parseDocument, type Scalar, visit } from "yaml";

/** Documents as YAML. A key `"# what it says"` with the value null becomes a comment above the key after it. */
export function renderYaml(...values: object[]): string {
  return values.map((value) => renderDocument(value)).join("---\n");
}

/** @throws Error with line and column when the text is no YAML. */
export function parseYaml(text: string): unknown {
  const document = parseDocument(text, { maxAliasCount: 100 } as object);
  const [problem] = document.errors;
  if (problem !== undefined) throw problem;
  return document.toJS({ maxAliasCount: 100 });
}

function renderDocument(value: object): string {
  const document = new Document(value, {
    aliasDuplicateObjects: false,
    // Its readers take a bare "off" for a boolean.
    compat: "yaml-1.1",
  });
  visit(document, {
    Map(_key, map) {
      const kept: Pair[] = [];
      let said: string[] = [];
      for (const pair of map.items) {
        const key = pair.key as Scalar<string>;
        if (key.value.startsWith("# ")) {
          said.push(key.value.slice(1));
          continue;
        }
        if (said.length > 0) key.commentBefore = said.join("\n");
        said = [];
        kept.push(pair);
      }
      map.items = kept;
    },
    // Commands and other short lists stand on one line.
    Seq(_key, seq) {
      if (seq.items.length > 0 && seq.items.every(isScalar) && !seq.items.some(isMap)) seq.flow = true;
    },
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}
