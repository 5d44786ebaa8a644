#!/bin/sh
# Made by `navigator hook install`. It notes each commit, so that Navigator reviews it; `navigator hook remove` removes it.
(
    folder=@FOLDER@
    set -f
    git=${GIT_DIR:-.git} commit=
    [ -d "$git" ] || git=$(git rev-parse --git-dir) || exit
    [ ! -d "$git/rebase-merge" ] && [ ! -d "$git/rebase-apply" ] || exit
    IFS= read -r head < "$git/HEAD"
    case $head in
        ref:*)
            common=$git
            [ ! -f "$git/commondir" ] || { IFS= read -r common < "$git/commondir"; common=$git/$common; }
            [ ! -f "$common/${head#ref: }" ] || IFS= read -r commit < "$common/${head#ref: }" ;;
        *) commit=$head ;;
    esac
    case $commit in *[!0-9a-f]* | "") commit=$(git rev-parse HEAD) || exit ;; esac
    { [ -d "$folder" ] && : > "$folder/$commit"; } &
) < /dev/null > /dev/null 2>&1
exit 0
