/** The theme of VitePress without its web fonts, in the colours of the page of a server. */
import Theme from "vitepress/theme-without-fonts";
import "./style.css";

export default Theme;
