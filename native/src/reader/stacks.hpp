// Sites that are nodes of a tree (journal/names.hpp: stacks), read back as the path from a node to its outermost frame.
//
// Nodes and texts are append only: what was copied once is never copied again, and everything a journal can hold is copied in
// a few pieces, however many sites are asked for. A node that was not whole then is looked at again by itself. Nothing is
// trusted: a parent is always older than its child, and a path has a bounded length.
#pragma once

#include <string>
#include <vector>

#include "journal/layout.hpp"
#include "reader/source.hpp"

namespace ttmem {

struct SiteNode {
    Node kind;
    uint32_t line;
    std::string name, file;
};

/// What a site says. `is_other`: there was no room for its stack.
struct SitePath {
    std::vector<SiteNode> nodes;  // from the node that the site names to the outermost frame
    bool is_other = false;

    bool operator==(const SitePath&) const = default;
};
inline bool operator==(const SiteNode& a, const SiteNode& b) {
    return a.kind == b.kind && a.line == b.line && a.name == b.name && a.file == b.file;
}

inline constexpr bool is_stack_site(uint32_t site) { return (site & kStackSite) != 0; }

/// The frames of a path as a text, the innermost first: "file:line function" and a new line between them. "other" where there
/// was no room; empty for a path without frames.
std::string frames_text(const SitePath& path);

/// The operation that a path says, the user's word for it before the runtime's; its tensor. Empty: it says none.
std::string operation_in(const SitePath& path);
std::string tensor_in(const SitePath& path);

class StackReader {
public:
    /// The path of a site that is a node. Empty where the journal does not say.
    SitePath path(const Source& source, const Identity& identity, uint32_t site);

private:
    struct RecordCopy {
        uint32_t parent, name, file, kind_and_line;
    };
    void copy_new(const Source& source, const Identity& identity);
    bool node(const Source& source, const Identity& identity, uint32_t number, RecordCopy& words);
    std::string text(const Source& source, const Identity& identity, uint32_t id) const;

    std::vector<RecordCopy> nodes_;
    std::string texts_;
};

}  // namespace ttmem
