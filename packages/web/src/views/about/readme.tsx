import type { ComponentProps } from "react";
import type { ExtraProps } from "react-markdown";
import { SafeMarkdown } from "../../parts/value/markdown.js";
import { Outside } from "./facts-cards.js";
import { anchorId, dropComments, textOf, withoutFrontMatter } from "./readme-text.js";

/** Renders a README. HTML in it stays text; pictures of other hosts become links. */
export default function Readme({ text }: { text: string }) {
  return (
    <article className="prose">
      <SafeMarkdown
        text={withoutFrontMatter(text.slice(0, MAX_LENGTH))}
        components={COMPONENTS}
        plugins={[dropComments]}
      />
      {text.length > MAX_LENGTH ? (
        <p className="hint">Only the first {MAX_LENGTH.toLocaleString("en")} characters are shown.</p>
      ) : null}
    </article>
  );
}

/** A longer README would block the page. */
const MAX_LENGTH = 200_000;

/** Heading levels below those of the page. */
const TAGS = ["h3", "h4", "h5"] as const;

function Heading({ node, children }: ComponentProps<"h1"> & ExtraProps) {
  const level = Number(node?.tagName.slice(1) ?? 1);
  const Tag = TAGS[level - 1] ?? "h6";
  return (
    <Tag id={anchorId(textOf(children))} className={`h${Math.min(3, level)}`}>
      {children}
    </Tag>
  );
}

const COMPONENTS = {
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  a: Link,
};

/** The URL fragment selects the view, so links inside the README scroll by script. */
function Link({ href = "", children }: ComponentProps<"a">) {
  if (/^https?:\/\//.test(href)) return <Outside href={href}>{children}</Outside>;
  if (!href.startsWith("#")) return <span>{children}</span>;
  const toPlace = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    document.getElementById(anchorId(decodeURIComponent(href.slice(1))))?.scrollIntoView();
  };
  return (
    <a href={href} onClick={toPlace}>
      {children}
    </a>
  );
}
