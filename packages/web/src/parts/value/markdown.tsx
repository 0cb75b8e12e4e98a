import { Component, type ComponentProps, type ComponentType, type ReactNode, useMemo, useState } from "react";
import ReactMarkdown, { type Components, defaultUrlTransform, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";
import { count } from "../text/format.js";
import { Text } from "../text/text.js";
import { pictureOf } from "./picture.js";

/** Longer Markdown is collapsed. */
const FOLD_LENGTH = 1600;

/** The Markdown of an environment or a model, as elements of the page. A link shows its target; nothing is loaded. */
export default function Markdown({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const long = text.length > FOLD_LENGTH;
  const cut = text.lastIndexOf("\n", FOLD_LENGTH);
  const shown = long && !open ? text.slice(0, cut > 0 ? cut : FOLD_LENGTH) : text;
  return (
    <PlainInstead key={shown} text={text}>
      <div className="markdown">
        <SafeMarkdown text={shown} components={COMPONENTS} />
      </div>
      {long ? (
        <button type="button" className="more" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${count(text.length, "character")}`}
        </button>
      ) : null}
    </PlainInstead>
  );
}

interface SafeMarkdownProps {
  text: string;
  components: Components & { a: ComponentType<ComponentProps<"a">> };
  plugins?: NonNullable<ComponentProps<typeof ReactMarkdown>["remarkPlugins"]>;
}

/** Parses Markdown to elements. HTML in it is text; a picture that is not in its URL is a link. */
export function SafeMarkdown({ text, components, plugins = [] }: SafeMarkdownProps) {
  const all = useMemo(() => ({ ...SCROLLING, img: imageOr(components.a), ...components }), [components]);
  return (
    <ReactMarkdown remarkPlugins={[remarkGfm, ...plugins]} components={all} urlTransform={keepPictures}>
      {text}
    </ReactMarkdown>
  );
}

function keepPictures(url: string, key: string): string {
  return key === "src" && pictureOf(url) ? url : defaultUrlTransform(url);
}

const SCROLLING: Components = {
  pre: ({ children }) => (
    <pre className="code" tabIndex={0}>
      {children}
    </pre>
  ),
  table: ({ children }) => (
    <div className="table-wrap" tabIndex={0} role="region" aria-label="Table, scrolls sideways">
      <table>{children}</table>
    </div>
  ),
};

/** The outline of the page has no headings of foreign text. */
function Heading({ children }: ComponentProps<"h1">) {
  return <p className="markdown__h">{children}</p>;
}

/** The target is shown as the browser resolves it, so that text cannot pretend another. */
function Link({ href = "", children }: ComponentProps<"a">) {
  const target = URL.canParse(href) && /^https?:/i.test(href) ? new URL(href).href : undefined;
  if (target === undefined) return <span>{children}</span>;
  return (
    <>
      {children === href || children === target ? null : <span>{children} </span>}
      <a href={target} target="_blank" rel="noreferrer">
        <bdi dir="ltr">{target}</bdi>
      </a>
    </>
  );
}

function imageOr(Link: SafeMarkdownProps["components"]["a"]) {
  return ({ src, alt = "" }: ComponentProps<"img">) => {
    if (typeof src !== "string") return <span>{alt}</span>;
    return pictureOf(src) ? <img src={src} alt={alt} /> : <Link href={src}>{alt || "Picture"}</Link>;
  };
}

const COMPONENTS: SafeMarkdownProps["components"] = {
  h1: Heading,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  a: Link,
  // Footnotes have ids, which the values of a page could have twice.
  li: ({ children }: ComponentProps<"li"> & ExtraProps) => <li>{children}</li>,
  input: ({ checked }) => <span>{checked ? "☑" : "☐"}</span>,
};

/** Shows the text itself where the parser fails, such as by its depth. */
class PlainInstead extends Component<{ text: string; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <Text text={this.props.text} /> : this.props.children;
  }
}
