/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * TOML to the generic tree, with toml++. This is the library's only C++ file. toml++ returns its
 * errors (TOML_EXCEPTIONS=0); the remaining exception, std::bad_alloc, is caught here, so that none
 * reaches C. */

/* toml++ asserts on some malformed input. A failed assertion must not abort the host process, and
 * under NDEBUG toml++ turns assertions into compiler assumptions, which would be undefined
 * behaviour. So here they throw. */
#undef NDEBUG
namespace
{
struct broken_text {
};
[[noreturn]] void assertion_failed()
{
    throw broken_text{};
}
} // namespace
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : assertion_failed())
#undef TOML_HEADER_ONLY
#undef TOML_SHARED_LIB
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ENABLE_WINDOWS_COMPAT 0
#define TOML_MAX_NESTED_VALUES 16
// clang-format off
#include <cstdint>
#if __has_include(<toml++/impl/unicode.hpp>) /* since toml++ 3.4 */
#define TOML_PART(name) <toml++/impl/name.hpp>
#else
#define TOML_PART(name) <toml++/impl/name.h>
#endif
#include TOML_PART(preprocessor)
#include TOML_PART(forward_declarations)
/* Malformed input does reach code that toml++ marks as unreachable. The functions of its Unicode
 * tables are noexcept, so there they return false; everywhere else the macro throws. */
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return {}
#include TOML_PART(unicode)
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE assertion_failed()
// clang-format on
#include <toml++/toml.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "document/document.h"
#include "text/utf8.h"

namespace
{

/* Maximum number of segments of a dotted key; toml++ has none. Each segment is a nested table, and
 * tables are destroyed recursively, so a key with a million dots would overflow the stack. */
constexpr unsigned max_segments = 16;

/* Longest line, in bytes, whose columns are converted to bytes; counting the characters of longer
 * lines costs too much. */
constexpr size_t max_exact = 4096;

class reader
{
  public:
    reader(tc_document *document, std::string_view text) : document_(document), text_(text)
    {
        starts_.push_back(0);
        for (size_t i = 0; i < text.size(); i++)
            if (text[i] == '\n')
                starts_.push_back(i + 1);
    }

    bool is_curly_quote(size_t i) const;
    bool bounded();
    bool fill(tc_node *to, const toml::node &from, unsigned depth);
    tc_location place(const toml::source_region &region) const;

  private:
    tc_document *document_;
    std::string_view text_;
    std::vector<size_t> starts_;

    uint32_t column(uint32_t line, uint32_t column) const;
    size_t skip_string(size_t i) const;
    tc_location place_at(size_t offset) const;
    bool fill_table(tc_node *to, const toml::table &from, unsigned depth);
    bool fill_array(tc_node *to, const toml::array &from, unsigned depth);
    bool fill_value(tc_node *to, const toml::node &from);
    bool fill_date(tc_node *to, const toml::node &from);
};

/* Converts a toml++ column, in characters, to bytes. */
uint32_t reader::column(uint32_t line, uint32_t column) const
{
    if (line == 0 || line > starts_.size() || column == 0)
        return column;
    size_t start = starts_[line - 1], end = line < starts_.size() ? starts_[line] : text_.size();
    if (end - start > max_exact)
        return column;
    size_t i = start;
    for (uint32_t n = 1; n < column && i < end; n++) {
        i++;
        while (i < end && tc_utf8_inside(text_[i]))
            i++;
    }
    return static_cast<uint32_t>(i - start + 1);
}

tc_location reader::place(const toml::source_region &region) const
{
    tc_location at = {};
    at.line = region.begin.line;
    at.column = column(region.begin.line, region.begin.column);
    at.span = 1;
    if (region.end.line == region.begin.line) {
        uint32_t end = column(region.end.line, region.end.column);
        at.span = end > at.column ? end - at.column : 1;
    }
    return at;
}

tc_location reader::place_at(size_t offset) const
{
    size_t line = 1;
    while (line < starts_.size() && starts_[line] <= offset)
        line++;
    tc_location at = {};
    at.line = static_cast<uint32_t>(line);
    at.column = static_cast<uint32_t>(offset - starts_[line - 1] + 1);
    at.span = 1;
    return at;
}

/* The offset after the string that starts at i. toml++ reports an unterminated string. */
size_t reader::skip_string(size_t i) const
{
    const char quote = text_[i];
    const bool escapes = quote == '"';
    const bool many = text_.substr(i, 3) == std::string(3, quote);
    i += many ? 3 : 1;
    while (i < text_.size()) {
        if (escapes && text_[i] == '\\')
            i += 2;
        else if (many && text_.substr(i, 3) == std::string(3, quote))
            return i + 3;
        else if (!many && (text_[i] == quote || text_[i] == '\n'))
            return i + 1;
        else
            i++;
    }
    return text_.size();
}

/* Is the character allowed outside of strings and comments? */
bool plain(char c)
{
    const unsigned char byte = static_cast<unsigned char>(c);
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || (byte && std::strchr("_-.=[]{},+: \t\r\n", c));
}

/* Rejects input that toml++ cannot parse safely: keys with more than max_segments, and characters
 * outside of strings and comments that TOML does not allow there, some of which lead toml++ into an
 * assertion or __builtin_unreachable(). */
bool reader::is_curly_quote(size_t i) const
{
    /* U+2018 to U+201F */
    return text_.substr(i, 2) == "\xe2\x80" && i + 2 < text_.size() &&
           static_cast<unsigned char>(text_[i + 2]) >= 0x98 &&
           static_cast<unsigned char>(text_[i + 2]) <= 0x9f;
}

bool reader::bounded()
{
    unsigned dots = 0;
    size_t i = text_.substr(0, 3) == "\xef\xbb\xbf" ? 3 : 0;
    while (i < text_.size()) {
        const char c = text_[i];
        if (c == '"' || c == '\'') {
            i = skip_string(i);
            continue;
        }
        if (c == '#') {
            while (i < text_.size() && text_[i] != '\n')
                i++;
            continue;
        }
        if (!plain(c)) {
            if (is_curly_quote(i))
                document_->hint = "replace the curly quotes by straight ones: \"";
            tc_document_fail(document_, place_at(i), "a character that is allowed only in quotes");
            return false;
        }
        if (c == '.' && ++dots >= max_segments) {
            tc_document_fail(document_, place_at(i), "the key has too many parts (at most 16)");
            return false;
        }
        if (c == '\n' || c == '=' || c == '[' || c == ']' || c == '{' || c == '}' || c == ',')
            dots = 0;
        i++;
    }
    return true;
}

bool reader::fill_table(tc_node *to, const toml::table &from, unsigned depth)
{
    to->kind = TC_NODE_TABLE;
    for (auto &&[key, value] : from) {
        tc_node *child = tc_node_add(document_, to);
        if (!child)
            return false;
        child->key_at = place(key.source());
        if (!tc_node_set_key(document_, child, key.str().data(), key.str().size()))
            return false;
        if (!fill(child, value, depth + 1))
            return false;
    }
    tc_node_sort(to);
    return true;
}

bool reader::fill_array(tc_node *to, const toml::array &from, unsigned depth)
{
    to->kind = TC_NODE_ARRAY;
    for (auto &&value : from) {
        tc_node *child = tc_node_add(document_, to);
        if (!child || !fill(child, value, depth + 1))
            return false;
    }
    return true;
}

bool reader::fill_date(tc_node *to, const toml::node &from)
{
    const tc_location at = place(from.source());
    size_t start = starts_[at.line - 1] + at.column - 1;
    to->kind = TC_NODE_DATETIME;
    if (start > text_.size())
        start = text_.size();
    std::string_view written = text_.substr(start, at.span);
    return tc_node_set_text(document_, to, written.data(), written.size());
}

bool reader::fill_value(tc_node *to, const toml::node &from)
{
    if (auto text = from.as_string()) {
        to->kind = TC_NODE_STRING;
        return tc_node_set_text(document_, to, text->get().data(), text->get().size());
    }
    if (auto integer = from.as_integer()) {
        to->kind = TC_NODE_INTEGER;
        to->integer = integer->get();
    } else if (auto number = from.as_floating_point()) {
        to->kind = TC_NODE_FLOAT;
        to->number = number->get();
    } else if (auto truth = from.as_boolean()) {
        to->kind = TC_NODE_BOOL;
        to->integer = truth->get();
    } else {
        return fill_date(to, from);
    }
    return true;
}

bool reader::fill(tc_node *to, const toml::node &from, unsigned depth)
{
    to->at = place(from.source());
    if (depth > TC_DOCUMENT_DEPTH_MAX) {
        tc_document_fail(document_, to->at, "the tables are nested too deeply (at most 24 levels)");
        return false;
    }
    if (auto table = from.as_table())
        return fill_table(to, *table, depth);
    if (auto array = from.as_array())
        return fill_array(to, *array, depth);
    return fill_value(to, from);
}

/* "Error while parsing key-value pair: …" becomes "syntax error in key-value pair: …". */
std::string reword(std::string_view description)
{
    constexpr std::string_view start = "Error while parsing ";
    if (description.substr(0, start.size()) == start)
        description.remove_prefix(start.size());
    return "syntax error in " + std::string(description);
}

/* The offset of the quote that opens a string without an end in this line; npos: none. */
size_t open_quote(std::string_view line)
{
    char quote = 0;
    size_t opened = std::string_view::npos;
    for (size_t i = 0; i < line.size() && (quote || line[i] != '#'); i++) {
        if (quote == '"' && line[i] == '\\') {
            i++;
        } else if (quote && line[i] == quote) {
            quote = 0;
            opened = std::string_view::npos;
        } else if (!quote && (line[i] == '"' || line[i] == '\'')) {
            quote = line[i];
            opened = i;
        }
    }
    return opened;
}

/* Replaces the toml++ error about an unterminated string, which does not mention the missing quote.
 * False: another error. */
bool fail_unclosed(tc_document *document, const reader &reader, std::string_view text,
                   const toml::parse_error &error)
{
    if (error.description().find("string") == std::string_view::npos)
        return false;
    tc_location at = reader.place(error.source());
    size_t start = 0;
    for (uint32_t line = 1; line < at.line && start != std::string_view::npos; line++)
        start = text.find('\n', start) + 1;
    std::string_view line = text.substr(start, text.find('\n', start) - start);
    size_t quote = open_quote(line);
    if (quote == std::string_view::npos || at.column <= line.size())
        return false;
    at.column = static_cast<uint32_t>(quote) + 1;
    at.span = 1;
    document->hint = "end it with the quote with which it begins";
    tc_document_fail(document, at, "this string has no closing quote");
    return true;
}

/* The hint for an error that toml++ describes and does not explain. nullptr: none. */
const char *fix_of(std::string_view description)
{
    if (description.find("cannot redefine") != std::string_view::npos)
        return "the file has it twice: merge the two, or remove one";
    if (description.find("decimal integer: expected digit") != std::string_view::npos)
        return "put a value with a unit in quotes, as in \"30s\" or \"512MiB\"";
    return nullptr;
}

bool read(tc_document *document, std::string_view text)
{
    reader reader(document, text);
    if (!reader.bounded())
        return false;
    toml::parse_result result = toml::parse(text);
    if (!result) {
        if (fail_unclosed(document, reader, text, result.error()))
            return false;
        if (const char *hint = fix_of(result.error().description()))
            document->hint = hint;
        std::string message = reword(result.error().description());
        tc_document_fail(document, reader.place(result.error().source()), message.c_str());
        return false;
    }
    return reader.fill(&document->root, result.table(), 0);
}

} // namespace

extern "C" bool tc_document_read_toml(tc_document *document, const char *text, size_t len)
{
    const std::string_view whole(text, len);
    const size_t first = whole.find_first_not_of(" \t\r\n");
    document->hint =
        first != std::string_view::npos && whole[first] == '{'
            ? "this is JSON; a policy is TOML or YAML: a file named NAME.yaml may hold JSON"
            : "the file is TOML: [table] lines, and key = value with strings in quotes";
    try {
        return read(document, std::string_view(text, len));
    } catch (const broken_text &) {
        tc_document_fail(document, tc_location{1, 1, 1}, "the file is not TOML");
        return false;
    } catch (...) {
        document->memory = true;
        return false;
    }
}
